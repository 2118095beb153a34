// The page /docs: openapi.json, route by route, with the errors of all first.

const main = document.querySelector("main");

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

// A paragraph or a cell of text, whose code is in backticks.
const prose = (name, text) => element(name, ...text.split("`").map((part, k) => (k % 2 ? element("code", part) : part)));

const table = (rows) => element("table", ...rows.map(([head, text]) => element("tr", element("th", element("code", head)), prose("td", text))));

function section(route, name, method, schemas) {
  const made = element("section", element("h2", element("code", `${name.toUpperCase()} ${route}`), ` ${method.summary}`));
  made.append(...method.description.split("\n\n").map((part) => prose("p", part)));
  let fields = (method.parameters ?? []).map(({ name, description }) => [name, description]);
  for (const [kind, { schema, example }] of Object.entries(method.requestBody?.content ?? {})) {
    made.append(element("p", "Body: ", element("code", kind)));
    if (example) made.append(element("pre", typeof example === "string" ? example : JSON.stringify(example)));
    const of = (schema.oneOf?.[0] ?? schema).$ref?.split("/").at(-1);
    if (of) fields = Object.entries(schemas[of].properties).map(([name, { description }]) => [name, description]);
  }
  if (fields.length) made.append(table(fields));
  return made;
}

const { paths, components } = await (await fetch("openapi.json")).json();
main.append(table(Object.entries(components.responses).map(([status, { description }]) => [status, description])));
for (const [route, methods] of Object.entries(paths)) {
  for (const [name, method] of Object.entries(methods)) main.append(section(route, name, method, components.schemas));
}

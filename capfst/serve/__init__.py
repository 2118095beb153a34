"""A service that recases text over HTTP: `capfst serve`.

In: requests. Out: recased text, as JSON, lines of JSON, plain text or files; explanations; and a page to try it.

A request's way: connection.py (bytes, time limits) → app.py (its route) → body.py (its text, all at once or bit by bit)
→ requests.py (its JSON and options) → service.py (what its route does; work.py: texts that arrive together are one
call) → answers.py.
"""

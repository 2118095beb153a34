"""The component of spaCy pipelines: later components read the recased words, and nothing else of a Doc changes."""

import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import in_one_folder, tiny

import capfst
from capfst.exceptions import ModelError, OptionError

spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
from spacy.tokens import Doc, Span  # noqa: E402
from spacy.training import Example  # noqa: E402

TEXTS = ["the us told us", "", "in new york\nmr. o'neill,  u.s. senator", "WE MET IN NEW YORK", "an it meeting"]
PLACES = [{"label": "GPE", "pattern": "US"}, {"label": "GPE", "pattern": [{"SHAPE": "Xxx"}, {"ORTH": "York"}]}]


@pytest.fixture(scope="module")
def nlp():
    """Return a pipeline of a tokenizer, the component, and rules that depend on case."""
    made = spacy.blank("en")
    made.add_pipe("entity_ruler").add_patterns(PLACES)  # components that are already there read patterns, too
    made.add_pipe("capfst", first=True)
    return made


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "own.fst"
    tiny().save(path)
    return path


def blank(**config):
    made = spacy.blank("en")
    made.add_pipe("capfst", config=config)
    return made


def test_later_components_read_the_recased_words(nlp):
    doc = nlp("the us told us in new york")
    assert doc.text == "the US told us in New York"
    assert [entity.text for entity in doc.ents] == ["US", "New York"]
    assert doc.ents[1].start_char == len("the us told us in ")
    assert [each._.original_text for each in (doc, doc[1], doc.ents[1])] == [
        "the us told us in new york", "us", "new york",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_trained_component_reads_the_recased_words():
    trained = spacy.blank("en")
    trained.add_pipe("ner")
    texts = [(f"{before} US {after}", f"{before} us {after}") for before in ("the", "in") for after in ("met", "told")]
    examples = [
        Example.from_dict(trained.make_doc(text), {"entities": spans})
        for name, pronoun in texts
        for text, spans in ((name, [(name.index("US"), name.index("US") + 2, "GPE")]), (pronoun, []))
    ]
    spacy.util.fix_random_seed(1)
    trained.initialize(lambda: examples)
    for _ in range(20):
        random.Random(1).shuffle(examples)
        trained.update(examples)
    text = "the us told us"
    assert not trained(text).ents
    trained.add_pipe("capfst", first=True)
    assert [(entity.text, entity.label_) for entity in trained(text).ents] == [("US", "GPE")]


def test_a_document_without_the_component_is_its_own_original():
    doc = spacy.blank("en")("New York")
    assert (doc._.original_text, doc[0]._.original_text) == (None, "New")


@pytest.mark.parametrize("options", [{"restore": "punctuation,case"}, {"repair": True}])
def test_punctuation_is_refused(nlp, options):
    with pytest.raises(OptionError, match="cannot be used with a Doc"):
        nlp.add_pipe("capfst", "marks", config=options)


@pytest.mark.parametrize("options", [{}, {"document": True}, {"sentence_case": True}])
def test_many_docs_are_recased_as_one_by_one(options):
    nlp = blank(**options)
    expected = [nlp(text).text for text in TEXTS]
    assert [doc.text for doc in nlp.pipe(TEXTS * 3, batch_size=4)] == expected * 3
    assert expected[0] == ("The US told us" if options.get("sentence_case") else "the US told us")


def test_a_batch_is_recased_at_once(monkeypatch):
    nlp = blank()
    component = nlp.get_pipe("capfst")
    calls = []
    recaser = component.recaser
    monkeypatch.setitem(component.__dict__, "recaser", lambda texts: calls.append(len(texts)) or recaser(texts))
    list(nlp.pipe(TEXTS, batch_size=3))
    assert calls == [3, 2]


def test_each_doc_is_a_document_of_its_own():
    texts = ["the painter velters lived in rome.", "some velters left."]
    nlp = blank(document=True)
    assert [doc.text for doc in nlp.pipe(texts)] == [capfst.load()(text, document=True) for text in texts]


@pytest.mark.slow
def test_pipelines_run_in_processes_and_keep_the_context_of_texts(nlp):
    expected = [(nlp(text).text, number) for number, text in enumerate(TEXTS)]
    numbered = [(text, number) for number, text in enumerate(TEXTS)]
    for processes in (1, 2):
        docs = nlp.pipe(numbered, as_tuples=True, n_process=processes)
        assert [(doc.text, number) for doc, number in docs] == expected
    again = pickle.loads(pickle.dumps(nlp.get_pipe("capfst")))
    assert again(nlp.make_doc(TEXTS[0])).text == expected[0][0]


@given(st.text(st.sampled_from("iİı\u0307ßẞSsǆﬁ \n\u00a0.'-A") | st.characters(codec="utf-8"), max_size=30))
@in_one_folder
def test_no_token_moves(nlp, text):
    doc = nlp.make_doc(text)
    recased = nlp.get_pipe("capfst")(doc)
    places = [[(token.idx, len(token), token.whitespace_) for token in each] for each in (doc, recased)]
    assert places[0] == places[1]
    assert recased._.original_text == text
    assert [token._.original_text for token in recased] == [token.text for token in doc]


def test_a_word_whose_length_would_change_stays_as_it_is(nlp):
    text = "i̇stanbul and new york"
    assert capfst.load()(text) == "İstanbul and New York"
    assert nlp(text).text == "i̇stanbul and New York"


def test_annotations_stay(nlp):
    doc = Doc(
        nlp.vocab,
        words=["we", "met", "angela", "merkel", "."],
        spaces=[True, True, True, False, False],
        tags=["PRP", "VBD", "NNP", "NNP", "."],
        pos=["PRON", "VERB", "PROPN", "PROPN", "PUNCT"],
        morphs=["Case=Nom", "", "", "", ""],
        lemmas=["we", "meet", "Angela", "Merkel", "."],
        heads=[1, 1, 3, 1, 1],
        deps=["nsubj", "ROOT", "compound", "dobj", "punct"],
        ents=["O", "O", "B-PERSON", "I-PERSON", "O"],
        user_data={"source": "radio"},
    )
    doc.cats = {"news": 1.0}
    doc.spans["who"] = [Span(doc, 2, 4, label="PERSON", kb_id="Q1")]
    doc.user_hooks["vector"] = len
    before = doc.to_json()
    recased = nlp.get_pipe("capfst")(doc)
    assert recased.to_json() == before | {"text": "we met Angela Merkel."}
    assert recased.spans["who"][0].text == "Angela Merkel"
    assert (recased.user_data["source"], recased.user_hooks, recased.cats) == ("radio", {"vector": len}, {"news": 1.0})
    assert (doc.to_json(), doc._.original_text) == (before, None)


def test_only_what_was_annotated_is_annotated():
    made = spacy.blank("en")
    made.add_pipe("sentencizer")
    made.add_pipe("capfst")
    doc = made("we met. they met us in may.")
    assert [sentence.text for sentence in doc.sents] == ["we met.", "they met us in May."]
    for attribute in ("TAG", "POS", "MORPH", "LEMMA", "DEP", "HEAD", "ENT_IOB"):
        assert not doc.has_annotation(attribute)
    assert not blank()("we met. they met.").has_annotation("SENT_START")


def test_recasing_again_keeps_the_first_text():
    nlp = blank()
    nlp.add_pipe("capfst", name="again")
    assert nlp("the us")._.original_text == "the us"


def test_a_pipeline_on_disk_has_its_options_and_a_model_of_its_own(path, tmp_path):
    nlp = blank(model=str(path), words={"van der iphone": None, "NEW": 2.0}, sentence_case=True)
    text = "it is new and van der iphone"
    recased = nlp(text).text
    assert "van der iphone" in recased and "NEW" in recased
    nlp.to_disk(tmp_path / "pipeline")
    nlp.to_disk(tmp_path / "pipeline")  # again
    path.unlink()
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded(text).text == recased
    assert loaded.get_pipe("capfst").options == nlp.get_pipe("capfst").options
    loaded.to_disk(tmp_path / "copy")
    assert spacy.load(tmp_path / "copy")(text).text == recased


def test_a_language_names_a_model(tmp_path):
    made = blank(model="de")
    made.to_disk(tmp_path / "saved")
    assert made("der wind und die rose").text == "der Wind und die Rose"
    assert spacy.load(tmp_path / "saved")("der wind und die rose").text == "der Wind und die Rose"
    with pytest.raises(OptionError, match="`language`"):
        blank(model="de", language="fr")("x")


def test_a_bundled_model_is_not_copied(tmp_path):
    blank(model="en").to_disk(tmp_path)
    assert not (tmp_path / "capfst").exists()
    assert spacy.load(tmp_path)("the us told us").text == "the US told us"


def test_the_bytes_of_a_pipeline_need_the_same_model(path):
    data = blank(model=str(path)).to_bytes()
    blank(model=str(path)).from_bytes(data)
    with pytest.raises(ModelError, match=r"en\.fst"):
        blank(model="en").from_bytes(data)


def test_unknown_options_values_and_models_are_errors():
    with pytest.raises(ValueError, match="sentence_cas"):
        blank(sentence_cas=True)
    with pytest.raises(OptionError, match="drop"):
        blank(oov="drop")
    with pytest.raises(ModelError, match=r"missing\.fst"):
        blank(model="missing.fst")("new york")


def test_the_defaults_are_those_of_recasing():
    config = blank().get_pipe_config("capfst")
    assert capfst.RecaseOptions(
        **{name: value for name, value in config.items() if name not in ("factory", "model")}
    ) == (capfst.RecaseOptions())

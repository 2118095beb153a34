"""Languages: kernels, grammars and ICU agree on words, each by the rules of a language."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.spelling import spelled

from capfst.casing.shapes import Shape, shapes
from capfst.casing.transducer import Transducer
from capfst.exceptions import CapfstError
from capfst.fst.symbols import Symbols, check
from capfst.text.facts import rows
from capfst.text.language import DEFAULT, Language, known, languages
from capfst.text.tokenizer import tokenize
from capfst.text.unicode import lower

OWN = sorted({row[0] for row in rows("languages.tsv") if len(row) > 1})
"""The languages with rules of their own."""

# Language; surface form; its lowercase.
LOWERCASE = """
tr ISPARTA ısparta
tr İstanbul istanbul
tr I\u0307stanbul istanbul
az BAKI bakı
az İçərişəhər içərişəhər
default ISPARTA isparta
default İstanbul i\u0307stanbul
lt ÌJ i\u0307\u0300j
lt J\u0303Į\u0301 j\u0307\u0303į\u0307\u0301
lt Šiauliai šiauliai
lt ĮI įi
nl IJSLAND ijsland
nl ÍJ\u0301 íj\u0301
de STRAẞE straße
de STRASSE strasse
el ΟΔΥΣΣΕΥΣ οδυσσευς
el Σ. σ.
el Άνθρωπος άνθρωπος
ga nAthair nathair
ga bhFUIL bhfuil
gd h-Alba h-alba
hr Ǆ ǆ
hr ǅ ǆ
ru МОСКВА москва
uk Ґанок ґанок
hy ԵՐԵՎԱՆ երեվան
hy Երևան երևան
ka ᲗᲑᲘᲚᲘᲡᲘ თბილისი
"""

# Language; lowercase word; Capitalized; UPPER; mixed.
SHAPED = """
default ijsberg Ijsberg IJSBERG Ijsberg
default straße Straße STRAßE Straße
default istanbul Istanbul ISTANBUL Istanbul
default ısparta ısparta ıSPARTA ısparta
nl ijsberg IJsberg IJSBERG IJsberg
nl ij IJ IJ IJ
nl íj\u0301s ÍJ\u0301s ÍJ\u0301S ÍJ\u0301s
nl bijna Bijna BIJNA Bijna
nl d'ijssel D'ijssel D'IJSSEL d'IJssel
tr istanbul İstanbul İSTANBUL İstanbul
tr ısparta Isparta ISPARTA Isparta
tr diyarbakır Diyarbakır DİYARBAKIR Diyarbakır
tr ı\u0307 ı\u0307 ı\u0307 ı\u0307
az içərişəhər İçərişəhər İÇƏRİŞƏHƏR İçərişəhər
lt i\u0307\u0300x I\u0300x I\u0300X I\u0300x
lt xi\u0307\u0300 Xi\u0307\u0300 XI\u0300 Xi\u0307\u0300
lt i\u0300x i\u0300x i\u0300x i\u0300x
lt šiauliai Šiauliai ŠIAULIAI Šiauliai
de straße Straße STRAẞE Straße
de ßen ßen ẞEN ßen
ga nathair Nathair NATHAIR nAthair
ga tsráid tSráid tSRÁID tSráid
ga bhfuil bhFuil bhFUIL bhFuil
ga gcorcaigh gCorcaigh gCORCAIGH gCorcaigh
ga héireann Héireann HÉIREANN hÉireann
ga éire Éire ÉIRE Éire
gd h-alba H-alba H-ALBA h-Alba
gd t-sràid T-sràid T-SRÀID t-Sràid
el άνθρωπος Άνθρωπος ΆΝΘΡΩΠΟΣ Άνθρωπος
el οδυσσευς Οδυσσευς ΟΔΥΣΣΕΥΣ Οδυσσευς
el σοφοσ Σοφοσ σοφοσ Σοφοσ
hr ǆep ǅep ǄEP ǅep
hr džep Džep DŽEP Džep
ru ёлка Ёлка ЁЛКА Ёлка
uk ґанок Ґанок ҐАНОК Ґанок
sr љубав Љубав ЉУБАВ Љубав
hy երևան Երևան ԵՐևԱՆ Երևան
ka თბილისი თბილისი ᲗᲑᲘᲚᲘᲡᲘ თბილისი
"""

SHAPES = (Shape.CAPITALIZED, Shape.UPPER, Shape.MIXED)
ALPHABET = ["ij", "bhf", "ts", *"aijsxnthbfgcdmpeéáßσςıį'-İIÍẞΣJ\u0300\u0301\u0303\u0307"]
made_words = st.lists(st.sampled_from(ALPHABET), max_size=6).map("".join)


def table(text: str) -> list[list[str]]:
    return [line.split(" ") for line in text.strip().split("\n")]


def kernel_lower(word: str, language: str) -> str:
    return lower(word, languages(language).lowering)


@pytest.mark.parametrize(("language", "surface", "lowercase"), table(LOWERCASE))
def test_lowercase(language: str, surface: str, lowercase: str) -> None:
    assert kernel_lower(surface, language) == lowercase


@pytest.mark.parametrize(("language", "word", "capitalized", "upper", "mixed"), table(SHAPED))
def test_shapes(language: str, word: str, capitalized: str, upper: str, mixed: str) -> None:
    assert [spelled(word, shape, languages(language)) for shape in SHAPES] == [capitalized, upper, mixed]


@settings(deadline=None)
@given(st.sampled_from(OWN), made_words)
def test_every_shape_has_the_word_as_its_lowercase(language: str, text: str) -> None:
    word = kernel_lower(text, language)
    assert kernel_lower(word, language) == word
    for shape in SHAPES:
        assert kernel_lower(spelled(word, shape, languages(language)), language) == word


@pytest.mark.parametrize("language", [row[0] for row in table(SHAPED)][::3])
def test_the_grammar_agrees(language: str) -> None:
    pytest.importorskip("pynini")
    from grammars.lower import lower as lowered  # noqa: PLC0415
    from grammars.names import mixed  # noqa: PLC0415
    from grammars.shapes import capitalized, upper  # noqa: PLC0415

    for name, surface, lowercase in table(LOWERCASE):
        if name == language:
            assert lowered(surface, language) == lowercase
    for name, word, *forms in table(SHAPED):
        if name == language:
            assert [capitalized(word, language), upper(word, language), mixed(word, language)] == forms


@pytest.mark.slow
@pytest.mark.parametrize("language", OWN)
def test_kernels_and_grammars_on_made_words(language: str) -> None:
    pynini = pytest.importorskip("pynini")
    from grammars import lower as grammar  # noqa: PLC0415
    from grammars.names import mixed  # noqa: PLC0415
    from grammars.shapes import capitalized, upper  # noqa: PLC0415

    @settings(deadline=None, max_examples=60)
    @given(made_words)
    def check_word(text: str) -> None:
        lowercases = list(pynini.compose(pynini.escape(text), grammar.lowering(language)).paths().ostrings())
        assert lowercases == [kernel_lower(text, language)]  # exactly one: it is a function
        word = lowercases[0]
        related = pynini.escape(word) @ grammar.raising(language) @ pynini.escape(text)
        assert related.num_states() > 0
        for shape, rule in zip(SHAPES, (capitalized, upper, mixed), strict=True):
            assert spelled(word, shape, languages(language)) == rule(word, language), shape

    check_word()


# ---- ICU

# ICU has no rule for the prefixes of Irish and Scottish Gaelic.
ICU_LACKS = {"ga", "gd"}
LETTERS = "".join(chr(code) for code in range(0x20, 0x10000) if not 0xD800 <= code < 0xE000 and chr(code).isalpha())


def icu_words(language: str) -> list[str]:
    """Return words and letters, in any case, to compare with ICU."""
    own = [word for row in table(LOWERCASE) + table(SHAPED) for word in row[1:] if row[0] in (language, "default")]
    return own + list(LETTERS[:3000])


@pytest.mark.parametrize("language", known())
def test_icu(language: str) -> None:
    """ICU agrees, or the lowercase of its form, by ICU itself, is another word: STRASSE, ΑΝΘΡΩΠΟΣ."""
    icu = pytest.importorskip("icu", reason="PyICU is not installed (pip install '.[icu]', needs libicu-dev)")
    locale, rules = icu.Locale(language), languages(language)
    version = tuple(map(int, icu.UNICODE_VERSION.split(".")[:2]))
    if version < (14, 0):
        pytest.skip(f"ICU's Unicode {icu.UNICODE_VERSION} is too old")

    def icu_lower(word: str) -> str:
        return str(icu.UnicodeString(word).toLower(locale))

    differing = []
    for surface in icu_words(language):
        word = kernel_lower(surface, language)
        if icu_lower(surface) != word:
            differing.append((surface, word, icu_lower(surface)))
        title = str(icu.UnicodeString(word).toTitle(locale))
        upper = str(icu.UnicodeString(word).toUpper(locale))
        for shape, theirs in ((Shape.CAPITALIZED, title), (Shape.UPPER, upper)):
            ours = spelled(word, shape, rules)
            no_way_back = icu_lower(theirs) != word
            if ours != theirs and not no_way_back:
                differing.append((word, ours, theirs))
    if language in ICU_LACKS:
        differing = [row for row in differing if not is_prefixed(row[0], rules)]
    assert differing == []


def is_prefixed(word: str, language: Language) -> bool:
    sides = language.raisings[:, 4:8].tolist()
    return any(word.startswith("".join(chr(code) for code in side if code)) for side in sides)


# ---- Effects of a language


def test_known() -> None:
    assert {"tr", "az", "lt", "nl", "de", "el", "ga", "gd", "fr", "it", "hr", "ru", "hy", "ka", "en"} <= set(known())
    assert languages("default") is DEFAULT


def test_one_name_for_languages_in_any_order() -> None:
    assert languages("fr,de").name == languages("de+fr").name == "de+fr"
    assert languages("de,fr") is languages("fr+de")
    assert languages("az,tr").name == "az+tr"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("xx", "language 'xx'.* az, be, .*`language`"),
        ("de,", "language ''"),
    ],
)
def test_unknown_languages_are_refused(names: str, message: str) -> None:
    with pytest.raises(CapfstError, match=message):
        languages(names)


@pytest.mark.parametrize(("names", "dotted"), [("de,lt", ()), ("de,tr", (1,)), ("az,de,tr", (0, 2)), ("lt,tr", (1,))])
def test_several_languages_lowercase_as_unicode_does(names: str, dotted: tuple[int, ...]) -> None:
    """Except for İ if one of them is Turkish: its lowercase is then i, without a dot above."""
    language = languages(names)
    assert language.dotted == dotted
    assert (language.lowering.table == DEFAULT.lowering.table).all()
    assert language.lowering.sequences.tolist() == ([] if dotted else DEFAULT.lowering.sequences.tolist())
    assert language.title.tolist() == DEFAULT.title.tolist()


def test_turkish_languages_alone_keep_their_rules() -> None:
    assert languages("az,tr").dotted == ()
    assert (languages("az,tr").lowering.table == languages("tr").lowering.table).all()


def test_shapes_of_forms_follow_the_language() -> None:
    forms = ["IJsland", "Ijsland", "ijsland", "IJSLAND"]

    def of(language: str) -> list[int]:
        symbols = Symbols.from_words(forms, languages(language))
        return [int(shape) for shape in shapes(symbols)[1:]]

    assert of("nl") == [Shape.CAPITALIZED, Shape.CAPITALIZED, Shape.LOWER, Shape.UPPER]
    assert of("default") == [Shape.MIXED, Shape.CAPITALIZED, Shape.LOWER, Shape.UPPER]
    irish = Symbols.from_words(["gCORCAIGH", "gCorcaigh", "gcorcaigh", "nAthair"], languages("ga"))
    assert shapes(irish)[1:].tolist() == [Shape.UPPER, Shape.CAPITALIZED, Shape.LOWER, Shape.MIXED]


def test_words_of_symbols_follow_the_language() -> None:
    symbols = Symbols.from_words(["İyi", "Irk", "ırk"], languages("tr"))
    starts = check(symbols)
    assert [symbols[label] for label in symbols.forms("ırk", starts)] == ["Irk", "ırk"]
    assert [symbols[label] for label in symbols.forms("iyi", starts)] == ["İyi"]
    assert symbols.forms("irk", starts) == range(0)
    words = Transducer(symbols, starts, False).words(np.frombuffer("IRK Irk irk ırk İYİ IYI     \n".encode(), np.uint8))
    assert words.n_forms[:6].tolist() == [2, 2, 0, 2, 1, 0]


def test_ascii_words_may_be_longer_in_lowercase() -> None:
    symbols = Symbols.from_words(["kirklari", "kırklara", "kırkları"], languages("tr"))
    text = np.frombuffer(b"KIRKLARA KIRKLARI kirklari KIRKLARE KIRKLIRI     \n", np.uint8)
    words = Transducer(symbols, check(symbols), False).words(text)
    assert words.n_forms[:5].tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("language", "text", "tokens"),
    [
        ("fr", "l'Europe L’ÉTÉ qu'il d' Artagnan", "l' Europe L’ ÉTÉ qu' il d' Artagnan"),
        ("fr", "aujourd'hui l'. presqu'île", "aujourd'hui l ' . presqu'île"),
        ("it", "dell'Italia c'è un'altra Sant'Angelo", "dell' Italia c' è un' altra Sant'Angelo"),
        ("default", "l'Europe dell'Italia", "l'Europe dell'Italia"),
        ("gd", "dh'Alba", "dh' Alba"),
        ("tr", "Ankara'da BM’nin 1923'te ABD'YE ISPARTA'DAKI", "Ankara 'da BM ’nin 1923 'te ABD 'YE ISPARTA 'DAKI"),
        ("tr", "i̇stanbul'dakı̇ İstanbul'dakİ Gül'ün", "i̇stanbul 'dakı̇ İstanbul 'dakİ Gül 'ün"),
        ("tr", "O'Brien Ankara'dayız 'da' Can't 'n", "O'Brien Ankara'dayız ' da ' Ca n't ' n"),
        ("de+fr+tr", "l'Europe IAG'nin", "l' Europe IAG 'nin"),
        ("default", "Ankara'da", "Ankara'da"),
    ],
)
def test_clitics(language: str, text: str, tokens: str) -> None:
    data = text.encode()
    starts, ends, _ = tokenize(data, language=languages(language))
    assert [data[s:e].decode() for s, e in zip(starts, ends, strict=True)] == tokens.split(" ")


@given(st.text("aAiIıİ\u0307uUüÜnNlLtTdD'’19.- ", max_size=15))
def test_clitics_do_not_depend_on_case(text: str) -> None:
    def words(data: bytes) -> list[str]:
        starts, ends, _ = tokenize(data, language=languages("fr,tr"))
        return [lower(data[s:e].decode()) for s, e in zip(starts, ends, strict=True)]

    assert words(text.encode()) == words(lower(text).encode())


def test_clitics_are_short_words_of_ascii() -> None:
    clitics = [row[1] for row in rows("clitics.tsv")]
    assert all(clitic.isascii() and clitic.islower() and len(clitic) <= 8 for clitic in clitics)
    assert all(clitic.strip("'").isalpha() and (clitic[0] + clitic[-1]).count("'") == 1 for clitic in clitics)
    assert languages("fr").clitics.dtype == np.uint64
    assert {row[0] for row in rows("clitics.tsv") + rows("small_first.tsv")} <= set(known())
    assert all(word.isascii() and len(word) <= 8 for _, word in rows("small_first.tsv"))

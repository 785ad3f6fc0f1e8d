"""Codes of languages as files, programs and people write them."""

from functools import cache

# As BCP 47 has them; no language has the first ones, or one that nobody writes.
OWN = {
    "zt": "zh-hant", "pb": "pt-br",  # Argos
    "pob": "pt-br", "zht": "zh-hant", "zhs": "zh-hans",  # OpenSubtitles
    "cht": "zh-hant", "chs": "zh-hans", "ptb": "pt-br", "ptg": "pt-pt", "zh-cht": "zh-hant", "zh-chs": "zh-hans",
    "cn": "zh-cn", "cz": "cs", "dk": "da", "gr": "el", "jp": "ja", "ua": "uk",  # countries
    "bokmål": "nb", "bokmal": "nb", "nynorsk": "nn", "no-nyn": "nn", "zh-yue": "yue",
}  # fmt: skip
SCRIPTS = {"latin": "latn", "cyrillic": "cyrl", "arabic": "arab"}  # of locales, as sr@latin
# Older codes of ISO 639-1, and one of the whole language: `no` in a text is Bokmål.
OLDER = {"in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro", "no": "nb", "sh": "sr"}
# Codes of ISO 639-2 and 639-3, with that of ISO 639-1: of the language, or of the one that it is most of (CLDR).
_THREE = """
aaraa abkab afraf akaak albsq alssq amham araar arbar argan armhy asmas avaav aveae aymay ayray azeaz azjaz bakba bambm
baqeu belbe benbn bihbh bisbi bodbo bosbs brebr bulbg burmy catca cescs chach chece chizh chucu chvcv cmnzh corkw cosco
crecr cwdcr cymcy czecs danda deude divdv dutnl dzodz ekket ellel engen epoeo eskik estet euseu eweee faofo fasfa fatak
fijfj filtl finfi frafr frefr fryfy fucff fulff gazom geoka gerde glagd glega glggl glvgv greel grngn guggn gujgu hatht
hauha hbssr hebhe herhz hinhi hmoho hrvhr hunhu hyehy iboig iceis idoio iiiii ikeiu ikuiu ileie inaia indid ipkik islis
itait japja javjv jpnja kalkl kankn kasks katka kaukr kazkk khkmn khmkm kikki kinrw kirky kmrku knckr kngkg komkv konkg
korko kpvkv kuakj kurku laolo latla lavlv limli linln litlt ltzlb lublu luglg lvslv macmk mahmh malml maomi marmr mayms
mkdmk mlgmg mltmt molro monmn mrimi msams myamy nauna navnv nblnr ndend ndong nepne nldnl nnonn nobnb nornb npine nyany
ocioc ojgoj ojioj orior ormom oryor ossos panpa pbtps pbups perfa pesfa plipi pltmg polpl porpt prsfa pusps quequ quyqu
quzqu rohrm ronro rumro runrn rusru sagsg sansa sccsr scrhr sinsi slksk slosk slvsl smese smosm snasn sndsd somso sotst
spaes sqisq srcsc srdsc srpsr sswss sunsu swasw swesv swhsw tahty tamta tattt telte tgktg tgltl thath tibbo tirti tonto
tsntn tsots tuktk turtr uigug ukruk urdur uzbuz uznuz venve vievi volvo welcy wlnwa wolwo xhoxh yddyi yidyi yoryo zhaza
zhozh zsmms zulzu zybza
"""
_SHORTER = {word[:3]: word[3:] for word in _THREE.split()} | OLDER


def tag(code: str) -> str:
    """The code as BCP 47 spells it, in lower case, also that of a locale: pt-br for pt_BR.UTF-8 and for pb."""
    locale, _, modifier = code.lower().replace("_", "-").partition("@")
    name = locale.partition(".")[0]
    first, *others = OWN.get(name, name).split("-")
    return "-".join([OWN.get(first, first), *filter(None, [SCRIPTS.get(modifier)]), *others])


@cache
def shortest(code: str) -> str:
    """The ISO 639-1 code if there is one, without script and region: en for EN-GB, eng and eng_Latn; nb for no."""
    first = tag(code).partition("-")[0]
    return _SHORTER.get(first, first)

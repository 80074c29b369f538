"""Words by which the parts of a document are known, in Spanish, English and Portuguese; compared without accents."""

from __future__ import annotations

import re
from pathlib import Path

from lycosa.missions.documents.names import given_names


def alternatives(table: str) -> str:
    """A table of alternatives, several a line, as one group of a pattern."""
    return "(?:" + re.sub(r"\n\s*", "", table) + ")"


def _words(name: str) -> frozenset[str]:
    return frozenset(Path(__file__).with_name(name).read_text(encoding="ascii").split())


#: Words of institutions and their parts.
INSTITUTION = re.compile(
    r"\b"
    + alternatives(r"""
        universi(?:dad|dade|ty|tat|te|ta|tat|tet)|univ\b|facultad|faculdade|faculty|fac\.|departament\w*
        |department|departments|dept|dpto|depto|dep\.|escuela|escola|school|instituto?s?\b|institute?s?\b|institut
        |institution|college|colegio|laboratori\w*|laboratory|laboratories|labs?\b|centro|centre|center|academia
        |academy|hospital|clinic\w*|catedra|carrera de|politecnic\w*|polytechnic\w*|technion|politecnico
        |eth zurich|mit csail|csail|conicet|csic|inria|cnrs|uned\b|fundacao|fundacion|foundation|research group
        |grupo de investigacion|area de|seccion de|division of|section of|unidad de|unidade de|programa de pos\w*
        |secretaria de|ministerio|ministry|corporation|\bcorp\b|\binc\b|\bltd\b|gmbh|\bllc\b|s\.a\.|microsoft
        |google research|\bibm\b|telekom|observator\w*|museo|museum|biblioteca (?:nacional|central|publica)
        |sociedad|society|associa\w+|asociacion|national lab\w*|research center|coordenacao|coordinacion|nucleo de
        |embrapa|fiocruz|gerencia|servicio de|servico de|campus|\beupm\b|\betsi\w*|telecom
        |telecommunications research|r&d|agency|agencia|council|consejo superior|consorci\w+|programme in
        |fakulta\w*|\w*fachbereich|\w*hochschule|institut\w*|lehrstuhl|professur|\w*forschungs\w+|\w*zentrum|abteilung
        |tu (?:berlin|wien|dresden|munchen|darmstadt|delft|eindhoven)|eth|epfl|max[- ]planck\w*|fraunhofer\w*
        |facolta|dipartimento|scuola|politecnico|istituto|facultes?|ecole|laboratoire|departement\w*|centre national
        |universit\w+|uniwersytet\w*|politechnika|wydzial\w*|instytut\w*|univerzit\w+|katedra|ustav|vysoke uceni
        |faculteit\w*|hogeschool|vakgroep|afdeling|institutt\w*|institutionen|hogskola\w*|hogskole\w*|hojskole
        |yliopisto\w*|egyetem\w*|fakultesi|bolumu|enstitusu|facultat\w*|departamento?s?|escoles?|centr[eo]s?
        |πανεπιστημι\w+|πολυτεχνει\w+|σχολησ?|τμηματ?\w*|τομε[αι]\w*|εργαστηρι\w+|ινστιτουτ\w+|εθνικο
        |университет\w*|институт\w*|факультет\w*|кафедр\w+|академи\w+|(?:research|medical|health|data) centers?
        |solutions|technologies|consulting|incorporated|laboratoires?|company|\bag\b|s\.?l\.?u?\.?$|\bsrl\b|\bspa\b
        |ltda""")
    + r"(?!\w)"
)
#: Companies whose authors write no more than their names.
COMPANY = re.compile(
    r"\b(?:google|facebook|meta|amazon|apple|deepmind|openai|nvidia|intel|adobe|yahoo|twitter|netflix|samsung|huawei|alibaba|"
    r"tencent|baidu|siemens|bosch|philips|nokia|ericsson|oracle|xerox|hp|nec|sony|hitachi|toshiba|fujitsu|airbus|linkedin|"
    r"github|salesforce|vmware|cisco|qualcomm|at ?& ?t|bell labs|novartis|roche|pfizer|daimler\w*)\b"
)
#: A place or postal address.
ADDRESS = re.compile(
    r"\b"
    + alternatives(r"""
        c/|calle|av\.|avda|avenida|rua|street|st\.|road|rd\.|blvd|boulevard|plaza|p\.? ?o\.? box|apartado|cep\b
        |c\.p\.|s/n|usa\b|u\.s\.a|uk\b|spain|espana|argentina|mexico|chile|brasil|brazil|portugal|colombia|peru
        |uruguay|germany|france|italy|canada|china|japan|india|australia|united kingdom|united states|madrid
        |barcelona|buenos aires|sao paulo|rio de janeiro|granada|sevilla|valencia|lisboa|porto\b|santiago|cuba
        |la habana|venezuela|ecuador|bolivia|paraguay|costa rica|netherlands|belgium|belgique|switzerland|schweiz|suisse
        |austria|osterreich|deutschland|greece|sweden|norway|denmark|finland|poland|polska|czech republic|hungary
        |romania|turkey|turkiye|israel|iran|russia|ukraine|ireland|scotland|korea|taiwan|singapore|hong kong|vietnam
        |thailand|malaysia|indonesia|pakistan|egypt|morocco|tunisia|algeria|nigeria|south africa|new zealand|belo
        |horizonte|porto alegre|santa (?:cruz|barbara|fe|clara|catarina|monica)|san (?:diego|francisco|jose|antonio
        |sebastian)|los angeles|new (?:york|jersey|brunswick|haven|delhi|mexico|hampshire|orleans)|palo alto|menlo park
        |mountain view|las vegas|salt lake|ann arbor|(?:south|north|west) \w+|ciudad de|cidade|haifa|\w+stra(?:sse|at)
        |platz|boulevard|rue|viale|piazza|corso|drive|lane|hall|building|edificio|road|strasse|ste\.|suite""")
    + r"\b"
)
ABSTRACT = re.compile(
    r"^(?:abstract|resumen(?: ejecutivo)?|resumo|summary|sumario|sintesis|abstrac|sumilla|extracto)\b\s*[:.—–-]*\s*"
)
KEYWORDS = re.compile(
    r"^(?:key ?-?words?(?: and phrases)?|palabras? claves?|palavras?[- ]chaves?|index terms|descriptores|descritores|"
    r"terminos clave|unitermos|author keywords)\b\s*[:.—–-]*\s*"
)
#: Headings of lists beside the keywords.
OTHER_TERMS = re.compile(
    r"^(?:general terms|categories and subject descriptors|ccs concepts|mathematics subject classification|"
    r"(?:\d{4} )?msc\b|jel\b|pacs\b|acm reference format)"
)
REFERENCES = re.compile(
    r"^(?:\d+\.?\s+|[ivx]+\.\s+)?(?:references?(?: cited)?|bibliograf\w+|bibliography|referencias?(?: bibliogr\w+)?|"
    r"literature cited|literatura citada|obras citadas|fuentes|works cited)\s*:?$"
)
SECTION = re.compile(
    r"^(?:(?:\d+|[ivx]+)(?:\.\d+)*[.)]?\s+|capitulo \d+\.?\s*|chapter \d+\.?\s*)?(?:introduccion|introduction|"
    r"introducao|introducion|"
    r"indice(?: general| de contenidos?)?|contents|contenidos?|table of contents|sumario|tabla de contenidos?|"
    r"motivation|motivacion|"
    r"agradecimientos|acknowledg\w+|agradecimentos|dedicatoria|prologo|preface|prefacio|presentacion|objetivos|"
    r"statement of need|"
    r"antecedentes|background|marco teorico|lista de (?:figuras|tabelas|tablas)|list of (?:figures|tables))\s*[:.]?$"
)
#: Lines on a cover that say what the document is, not what it is about.
DEGREE = re.compile(
    r"^(?:(?:una?|a|the|el|la) )?"
    + alternatives(r"""
        tesis|thesis|tese|tesina|dissertation|dissertacao|disertacion|monografia|memoria
        |trabajo (?:de )?(?:fin|final|grado|titulacion|diploma)|trabalho (?:de|final)
        |proyecto (?:de )?(?:fin|grado|final)|projeto (?:de|final)|informe|report|technical report|relatorio
        |(?:bachelor|master|doctoral|phd|honors|undergraduate)\W*s? (?:thesis|degree|project)|grado en|doble grado
        |master en|maestria|doctorado|doutorado|mestrado|licenciatura|tfg|tfm|tcc|presentad|submitted|para optar
        |para obtener|para la obtencion|in partial|requirements|requisito|degree of|por$|by$|autor|author|director
        |tutor|orientador|apresentad|curso (?:de|academico|\d)|ano academico|academic year|convocatoria|preprint
        |manuscript|draft|version|art[ií]culo (?:original|de)|original article|research article|review article
        |editorial|carta al|letter to|short (?:paper|communication)|brief communication|open access|artigo
        |articulos?$|articles?$|resena|ensayo$|investigacion$|research$|special issue|numero especial
        |mathematics subject|msc \d|\w*(?:bachelor|master|diplom|abschluss|doktor|studien|seminar|haus|projekt)arbeit\w*
        |inaugural|\w*bericht|(?:[mb]\.? ?(?:sc|eng|tech|phil|arch|ed|a|s)\.?|ph\.? ?d\.?|master|bachelor|doctor)
        (?:\.|,)? (?:in|of|thesis|degree|dissertation|project|programme?)|tesi (?:di|de|doctoral)|laurea|corso di
        |these(?= d|$| pour| present)|memoire|diplome|treball|traballo|proefschrift|scriptie|afstudeer\w*
        |praca|diplomov\w+|bakalarsk\w+|disertacn\w+|examensarbete|kandidat\w*|\w*oppgave|speciale|pro gradu
        |szakdolgozat
        |diplomamunka|lucrare|tezi|yuksek lisans|διπλωματικη|πτυχιακη|μεταπτυχιακη|διδακτορικη|διατριβη|εργασια
        |выпускная|дипломная|курсовая|диссертация""")
    + r"\b"
)
#: Words that no person is called: a line with one of them is no list of names.
NOT_NAMES = re.compile(
    r"\b"
    + alternatives(r"""
        the|of|for|with|from|this|that|is|are|was|were|we|our|on|in|by|to|an|as|at|using|via|between|towards?|el
        |los|las|para|por|con|que|una?|es|son|como|sobre|entre|desde|su|sus|se|al|mediante|segun|hacia|os|um|uma
        |nos?|nas?|com|sao|pelo|pela|sob|ou|abstract|resumen|resumo|introduction|introduccion|introducao|keywords?
        |palabras|palavras|clave|chave|references|bibliograf\w+|chapter|capitulo|tesis|thesis|tese|trabajo
        |trabalho|proyecto|project|projeto|grado|master|maestria|doctorado|mestrado|doutorado|monografia|tesina
        |memoria|informe|report|journal|revista|proceedings|actas|conference|congreso|workshop|jornadas|simposio
        |symposium|volume|volumen|vol|issue|numero|pages?|paginas?|university|universidad|universidade|department
        |departamento|facultad|faculdade|faculty|school|escuela|escola|institute|instituto|college|laboratory
        |laboratorio|engineering|ingenieria|engenharia|science|sciences|ciencias?|informatica|computer|computacion
        |computacao|mathematics|matematicas?|fisica|physics|quimica|chemistry|biologia|biology|medicina|medicine
        |research|investigacion|pesquisa|analysis|analisis|analise|apuntes|notas|notes|slides|lecture|clase|tema
        |unidad|practica|ejercicios?|exercicios?|exercises?|problemas?|examen|exame|exam|prova|parcial|guia
        |homework|assignment|solucion\w*|solution\w*|curso|course|asignatura|disciplina|materia|january|february
        |march|april|may|june|july|august|september|october|november|december|enero|febrero|marzo|abril|mayo|junio
        |julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|janeiro|fevereiro|marco|maio|junho|julho
        |setembro|outubro|novembro|dezembro|madrid|barcelona|spain|espana|argentina|brasil|brazil|mexico|usa|chile
        |peru|lisboa|director\w*|directora|tutora?|orientador\w*|adviser|advisor|supervisor|supervised|author
        |authors|autora?|autores|email|e-mail|copyright|license|licencia|licenca|creative|commons|received
        |accepted|recibido|aceptado|published|available|online|editor|departments|center|centro|centre|group|grupo
        |area|seccion|systems?|sistemas?|data|datos|dados|model\w*|learning|aprendizaje|aprendizado|methods?
        |theory|teoria|study|estudio|estudo|design|applications?|aplicacion\w*|software|figure|figura|table|tabla
        |nombre|apellidos|fecha|date|data de|titulo|title|year|ano|version|draft|borrador|edicion|edition|isbn
        |issn|doi|concepts|original\w*|articles?|artigos?|articulos?|survey|health|contents|indice|sumario
        |agradecimientos|summary|statement|universitat|linux|windows|http\w*|www|hoja|referencia|reference
        |cheatsheet|dicas|stanford|vip|correspondencia|corresponding|address|direccion|tel|fax|phone|index|terms
        |members?|ieee|acm|senior|fellows?|professors?|assistant|associate|adjunct|lecturer|researchers?|scientist
        |engineers?|students?|candidate|dozent\w*|professur|betreuer\w*|gutachter\w*|matrikel\w*|studiengang|fach
        |verfasser\w*|vorgelegt|eingereicht|und|das|fur|einer?|zum|et|les|une|dans|pour|sur
        |degli|delle|nel|voor|een|καθηγητ\w+|αναπληρωτ\w+|επικουρ\w+|λεκτορ\w+|και|τησ|των|στην?|για
        |φοιτητ\w+|студент\w*|профессор|доцент|руководитель\w*|titulaire|maitre|relatore|corso|anno|chapitre|kapitel
        |wissenschaft\w*|informatik|mathematik|physik|elettronica|informazione|informatique|mathematiques""")
    + r"\b"
)
#: Titles before and after a name.
HONORIFIC = re.compile(
    r"(?:^|(?<=[\s,(]))(?:(?:profª?|profa|prof|dr|dra|drª|doctora?|lic|licda?|ing|mg|mgs|mgtr|msc|m\.sc|phd|ph\.d|"
    r"d\.phil|"
    r"bach|arq|abog|sr|sra|srta|don|doña|dña|dª|mtro|mtra|esp|bsc|b\.sc|professor|profesora?|catedratico|tec|cpn|"
    r"sir|mr|"
    r"mrs|drs)\.?ª?|(?:ma|ms|d)\.(?=\s+[^\W\d_]{3,}\s+[^\W\d_]{3,}))(?=[\s,)]|$)(?:\s*(?=\S))?",
    re.I,
)
MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|enero|febrero|marzo|abril|"
    r"mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|marco|maio|junho|julho|setembro|"
    r"outubro|novembro|dezembro|januar|februar|marz|mai|juni|juli|oktober|dezember|janvier|fevrier|mars|avril|juin|juillet|"
    r"aout|septembre|octobre|novembre|decembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre)"
)
#: What stands beside the names of those who direct a work, on their line or on the next.
TEACHER = re.compile(
    r"\b(?:prof\w*|dr[ae]?|doctora?|ph\.? ?d|catedratic\w+|docent\w*|dozent\w*|lecturer|habil|δρ|(?:\w+ )?καθηγητ\w+|"
    r"профессор|доцент)\b(?! (?:candidate|student|programme?)| (?:in|of|en|em) )"
)
GIVEN_NAMES = given_names()
PARTICLES = _words("particles.txt")

#: Words that say nothing of a text's subject.
STOP_WORDS = _words("stop_words.txt")

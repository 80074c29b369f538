"""Words by which the parts of a document are known, in Spanish, English and Portuguese; compared without accents."""

from __future__ import annotations

import re
from pathlib import Path

from lycosa.missions.documents.text.names import given_names


def _words(name: str) -> frozenset[str]:
    return frozenset(Path(__file__).with_name(name).read_text(encoding="ascii").split())


#: Words of institutions and their parts.
INSTITUTION = re.compile(
    r"\b(?:universi(?:dad|dade|ty|tat|te|ta|tat|tet)|univ\b|facultad|faculdade|faculty|fac\.|"
    r"departament\w*|department|"
    r"departments|dept|dpto|depto|dep\.|escuela|escola|school|instituto?s?\b|institute?s?\b|institut|institution|"
    r"college|colegio|"
    r"laboratori\w*|laboratory|laboratories|labs?\b|centro|centre|center|academia|academy|hospital|clinic\w*|"
    r"catedra|carrera de|"
    r"politecnic\w*|polytechnic\w*|technion|politecnico|eth zurich|mit csail|csail|conicet|csic|inria|cnrs|uned\b|"
    r"fundacao|"
    r"fundacion|foundation|research group|grupo de investigacion|area de|seccion de|division of|section of|"
    r"unidad de|unidade de|"
    r"programa de pos\w*|secretaria de|ministerio|ministry|corporation|\bcorp\b|\binc\b|\bltd\b|gmbh|\bllc\b|"
    r"s\.a\.|microsoft|google research|\bibm\b|telekom|observator\w*|museo|museum|biblioteca (?:nacional|central|"
    r"publica)|sociedad|society|"
    r"associa\w+|asociacion|"
    r"national lab\w*|research center|coordenacao|coordinacion|nucleo de|embrapa|fiocruz|gerencia|servicio de|"
    r"servico de|campus|"
    r"\beupm\b|\betsi\w*|telecom|telecommunications research|r&d|agency|agencia|council|consejo superior|"
    r"consorci\w+|programme in)(?!\w)"
)
#: A place or postal address.
ADDRESS = re.compile(
    r"\b(?:c/|calle|av\.|avda|avenida|rua|street|st\.|road|rd\.|blvd|boulevard|plaza|p\.? ?o\.? box|apartado|"
    r"cep\b|c\.p\.|"
    r"s/n|usa\b|u\.s\.a|uk\b|spain|espana|argentina|mexico|chile|brasil|brazil|portugal|colombia|peru|uruguay|"
    r"germany|france|italy|canada|china|japan|india|australia|united kingdom|united states|madrid|barcelona|"
    r"buenos aires|sao paulo|"
    r"rio de janeiro|granada|sevilla|valencia|lisboa|porto\b|santiago|cuba|la habana|venezuela|ecuador|bolivia|"
    r"paraguay|costa rica)\b"
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
    r"^(?:(?:una?|a|the|el|la) )?(?:tesis|thesis|tese|tesina|dissertation|dissertacao|disertacion|monografia|"
    r"memoria|trabajo (?:de )?(?:fin|final|grado|titulacion|diploma)|"
    r"trabalho (?:de|final)|proyecto (?:de )?(?:fin|grado|final)|projeto (?:de|final)|informe|report|"
    r"technical report|relatorio|"
    r"(?:bachelor|master|doctoral|phd|honors|undergraduate)\W*s? (?:thesis|degree|project)|grado en|doble grado|"
    r"master en|maestria|doctorado|doutorado|mestrado|licenciatura|"
    r"tfg|tfm|tcc|presentad|submitted|para optar|para obtener|para la obtencion|in partial|requirements|requisito|"
    r"degree of|por$|by$|autor|author|director|tutor|orientador|"
    r"apresentad|curso (?:de|academico|\d)|ano academico|academic year|convocatoria|preprint|manuscript|draft|version|"
    r"art[ií]culo (?:original|de)|original article|research article|review article|editorial|carta al|letter to|"
    r"short (?:paper|communication)|brief communication|open access|"
    r"artigo|articulos?$|articles?$|resena|ensayo$|investigacion$|research$|special issue|numero especial|"
    r"mathematics subject|msc \d)\b"
)
#: Words that no person is called: a line with one of them is no list of names.
NOT_NAMES = re.compile(
    r"\b(?:the|of|for|with|from|this|that|is|are|was|were|we|our|on|in|by|to|an|as|at|using|via|between|towards?|"
    r"el|los|las|para|por|con|que|una?|es|son|como|sobre|entre|desde|su|sus|se|al|mediante|segun|hacia|"
    r"os|um|uma|nos?|nas?|com|sao|pelo|pela|sob|ou|"
    r"abstract|resumen|resumo|introduction|introduccion|introducao|keywords?|palabras|palavras|clave|chave|references|"
    r"bibliograf\w+|chapter|capitulo|tesis|thesis|tese|trabajo|trabalho|proyecto|project|projeto|grado|master|"
    r"maestria|doctorado|"
    r"mestrado|doutorado|monografia|tesina|memoria|informe|report|journal|revista|proceedings|actas|conference|"
    r"congreso|workshop|"
    r"jornadas|simposio|symposium|volume|volumen|vol|issue|numero|pages?|paginas?|university|universidad|universidade|"
    r"department|departamento|facultad|faculdade|faculty|school|escuela|escola|institute|instituto|college|"
    r"laboratory|laboratorio|"
    r"engineering|ingenieria|engenharia|science|sciences|ciencias?|informatica|computer|computacion|computacao|"
    r"mathematics|matematicas?|"
    r"fisica|physics|quimica|chemistry|biologia|biology|medicina|medicine|research|investigacion|pesquisa|"
    r"analysis|analisis|analise|"
    r"apuntes|notas|notes|slides|lecture|clase|tema|unidad|practica|ejercicios?|exercicios?|exercises?|problemas?|"
    r"examen|exame|exam|"
    r"prova|parcial|guia|homework|assignment|solucion\w*|solution\w*|curso|course|asignatura|disciplina|materia|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|setiembre|octubre|noviembre|diciembre|"
    r"janeiro|fevereiro|marco|maio|junho|julho|setembro|outubro|novembro|dezembro|"
    r"madrid|barcelona|spain|espana|argentina|brasil|brazil|mexico|usa|chile|peru|lisboa|"
    r"director\w*|directora|tutora?|orientador\w*|adviser|advisor|supervisor|supervised|author|authors|autora?|"
    r"autores|email|e-mail|"
    r"copyright|license|licencia|licenca|creative|commons|received|accepted|recibido|aceptado|published|available|"
    r"online|editor|"
    r"departments|center|centro|centre|group|grupo|area|seccion|systems?|sistemas?|data|datos|dados|model\w*|"
    r"learning|aprendizaje|"
    r"aprendizado|methods?|theory|teoria|study|estudio|estudo|design|applications?|aplicacion\w*|software|figure|"
    r"figura|table|tabla|"
    r"nombre|apellidos|fecha|date|data de|titulo|title|year|ano|version|draft|borrador|edicion|edition|isbn|issn|doi|"
    r"concepts|original\w*|articles?|artigos?|articulos?|survey|health|contents|indice|sumario|agradecimientos|"
    r"summary|statement|universitat|linux|windows|http\w*|www|hoja|referencia|reference|"
    r"cheatsheet|dicas|stanford|vip|correspondencia|corresponding|address|direccion|tel|fax|phone|index|terms)\b"
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
GIVEN_NAMES = given_names()
PARTICLES = _words("particles.txt")

#: Words that say nothing of a text's subject.
STOP_WORDS = _words("stop_words.txt")

"""A small faculty for trying the documents mission: staff, a course, publications, theses, on one loopback port.

    python3 examples/faculty.py 8766
    lycosa crawl documents http://localhost:8766/ --delay 0.1

Addresses are hidden as people hide them, exercise sheets name nobody, and two people share a surname.
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def make_pdf(
    *pages: list[tuple[float, str]], title: str = "", author: str = "", size: tuple[int, int] = (595, 842)
) -> bytes:
    """A PDF whose pages have these lines, each with the size of its letters; larger lines are centred."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>"
    objects += [font % b"Helvetica", font % b"Helvetica-Bold"]
    kids = []
    for lines in pages:
        drawn, y = [], size[1] - 90.0
        for points, text in lines:
            width = 0.5 * points * len(text)
            x = max(60.0, (size[0] - width) / 2) if points > 10 else 60.0
            code = text.encode("cp1252", "replace").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
            drawn.append(b"BT /F%d %.1f Tf %.1f %.1f Td (%s) Tj ET" % (2 if points >= 14 else 1, points, x, y, code))
            y -= points * 1.6 if text else points
        stream = b"\n".join(drawn)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        resources = b"<< /Font << /F1 3 0 R /F2 4 0 R >> >>"
        box = b"[0 0 %d %d]" % size
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox %s /Resources %s /Contents %d 0 R >>"
        objects.append(page % (box, resources, len(objects)))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    info = b"<< /Title (%s) /Author (%s) >>" % (title.encode("latin-1", "replace"), author.encode("latin-1", "replace"))
    objects.append(info)
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size_text = b"%d" % (len(objects) + 1)
    trailer = b"trailer\n<< /Size %s /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        size_text,
        len(objects),
        len(out),
    )
    return out + b"xref\n0 %s\n0000000000 65535 f \n%s" % (size_text, table) + trailer


_PROSE = [
    (10.0, "En este trabajo se estudia el comportamiento de los modelos en condiciones variables, y se"),
    (10.0, "comparan los resultados con los de otros autores. Los datos muestran que la solución propuesta"),
    (10.0, "mejora las conocidas cuando el número de casos es grande, y que el coste crece poco a poco."),
]
_ENGLISH = [
    (10.0, "We study how the models behave when conditions vary, and compare the results with those of"),
    (10.0, "other authors. The data show that the proposed solution improves on the known ones when the"),
    (10.0, "number of cases is large, and that its cost grows slowly with the size of the problem."),
]

PAPER = make_pdf(
    [
        (18.0, "Caudales mínimos en cuencas de montaña"),
        (12.0, "Ana Casali, Luis Gil"),
        (11.0, "Departamento de Hidrología, Universidad de Villaverde"),
        (11.0, "{acasali,lgil}@antigua.example.edu"),
        (10.0, ""),
        (12.0, "Resumen"),
        *_PROSE,
        (10.0, "Palabras clave: hidrología, caudales, cuencas"),
        (10.0, ""),
        (12.0, "1. Introducción"),
        *(_PROSE * 5),
    ],
    [
        (10.0, "Referencias"),
        (9.0, "[1] Pérez, J.: Los ríos de la sierra. Villaverde, 2011."),
        (9.0, "[2] Smith, A.: Low flows. Norwood, 2015."),
    ],
)
ENGLISH_PAPER = make_pdf(
    [
        (18.0, "Low flows in mountain basins: a comparison"),
        (12.0, "A. Casali"),
        (11.0, "University of Villaverde"),
        (10.0, ""),
        (12.0, "Abstract"),
        *_ENGLISH,
        (12.0, "1 Introduction"),
        *(_ENGLISH * 6),
    ],
)
THESIS = make_pdf(
    [
        (16.0, "UNIVERSIDAD DE VILLAVERDE"),
        (13.0, "Facultad de Ingeniería"),
        (12.0, ""),
        (22.0, "Modelos de sequía en la cuenca del Verde"),
        (12.0, ""),
        (12.0, "Tesis presentada para optar al título de Doctor en Ingeniería"),
        (12.0, ""),
        (13.0, "Autor: Marta Ruiz Gómez"),
        (12.0, "Directora: Dra. Ana Casali"),
        (12.0, "2021"),
    ],
    [(14.0, "Resumen"), *(_PROSE * 3)],
    *([[(14.0, "Capítulo"), *(_PROSE * 8)]] * 8),
)
SHEETS = [
    make_pdf(
        [
            (9.0, "Universidad de Villaverde - Facultad de Ingeniería"),
            (9.0, "Hidrología I"),
            (15.0, f"Práctica {number}: {topic}"),
            (10.0, ""),
            *[
                (10.0, f"Ejercicio {n}. Calcule el caudal de la cuenca y justifique cada paso del cálculo.")
                for n in range(1, 7)
            ],
        ]
    )
    for number, topic in ((1, "balance hídrico"), (2, "infiltración"))
]
SLIDES = make_pdf(
    [(28.0, "Unidad 3: el ciclo del agua"), (14.0, ""), (14.0, "Luis Gil"), (12.0, "Facultad de Ingeniería")],
    *([[(24.0, "El ciclo del agua"), (16.0, "Evaporación"), (16.0, "Precipitación")]] * 6),
    size=(720, 540),
)
CV = make_pdf(
    [
        (18.0, "Curriculum Vitae"),
        (13.0, "Luis Gil"),
        (12.0, "Formación académica"),
        (10.0, "2010: Doctor en Ingeniería, Universidad de Villaverde"),
        (12.0, "Experiencia docente"),
        (10.0, "2012-2024: Profesor titular de Hidrología"),
        (12.0, "Publicaciones"),
        (10.0, "2020: Caudales mínimos en cuencas de montaña"),
    ]
)
PROGRAMME = make_pdf(
    [
        (16.0, "Programa de la asignatura: Hidrología I"),
        (11.0, "Universidad de Villaverde. Facultad de Ingeniería"),
        (12.0, "Objetivos"),
        *_PROSE,
        (12.0, "Contenidos"),
        *_PROSE,
        (12.0, "Evaluación"),
        *_PROSE,
        (12.0, "Bibliografía"),
        (10.0, "Pérez, J.: Los ríos de la sierra."),
    ]
)
DOCUMENTS = {
    "/~acasali/caudales.pdf": PAPER,
    "/~acasali/lowflows.pdf": ENGLISH_PAPER,
    "/tesis/ruiz.pdf": THESIS,
    "/hidrologia/practica1.pdf": SHEETS[0],
    "/hidrologia/practica2.pdf": SHEETS[1],
    "/hidrologia/unidad3.pdf": SLIDES,
    "/~lgil/cv.pdf": CV,
    "/hidrologia/programa.pdf": PROGRAMME,
    "/hidrologia/roto.pdf": PAPER[:700],
}

PAGES = {
    "/": """<title>Facultad de Ingeniería - Universidad de Villaverde</title><h1>Facultad de Ingeniería</h1>
<p>Universidad de Villaverde. Decana: Inés Romero Sanz (decanato@villaverde.example.edu)</p>
<ul><li><a href="/personal.html">Personal docente</a></li><li><a href="/hidrologia/">Hidrología I</a></li>
<li><a href="/tesis.html">Tesis</a></li></ul>""",
    "/personal.html": """<title>Personal docente</title><h1>Personal docente</h1>
<p>Facultad de Ingeniería, Universidad de Villaverde</p>
<table><tr><td><a href="/~acasali/">Ana Casali</a></td><td>Profesora titular</td>
<td>acasali [at] villaverde.example.edu</td></tr>
<tr><td><a href="/~lgil/">Luis Gil</a></td><td>Profesor asociado</td><td></td></tr>
<tr><td>Lucía Gil</td><td>Becaria doctoral</td><td>lucia.gil@villaverde.example.edu</td></tr>
<tr><td>Marta Ruiz Gómez</td><td>Investigadora</td>
<td><a href="mailto:mruiz@villaverde.example.edu">correo</a></td></tr></table>""",
    "/~acasali/": """<title>Ana Casali</title><h1>Ana Casali</h1><p>Profesora titular. Departamento de Hidrología.</p>
<p>Correo: acasali (arroba) villaverde punto example.edu</p><h2>Publicaciones</h2>
<ul><li>Ana Casali, Luis Gil: Caudales mínimos en cuencas de montaña. <a href="caudales.pdf">PDF</a></li>
<li>A. Casali: Low flows in mountain basins: a comparison. <a href="lowflows.pdf">PDF</a></li></ul>""",
    "/~lgil/": """<title>Luis Gil - Departamento de Hidrología</title><h1>Luis Gil</h1><p>Departamento de Hidrología,
Universidad de Villaverde.</p>
<p>E-mail: <a href="mailto:lgil@villaverde.example.edu">lgil@villaverde.example.edu</a></p>
<p><a href="cv.pdf">Currículum</a></p>""",
    "/hidrologia/": """<title>Hidrología I</title><h1>Hidrología I</h1>
<p>Equipo docente: <a href="/~acasali/">Ana Casali</a>, <a href="/~lgil/">Luis Gil</a></p>
<p><a href="programa.pdf">Programa</a></p><h2>Material</h2><ul><li><a href="practica1.pdf">Práctica 1</a></li>
<li><a href="practica2.pdf">Práctica 2</a></li><li><a href="unidad3.pdf">Diapositivas de la unidad 3</a></li>
<li><a href="roto.pdf">Apuntes</a> (en preparación)</li></ul>""",
    "/tesis.html": """<title>Tesis</title><h1>Tesis</h1>
<ul><li>Marta Ruiz Gómez: Modelos de sequía en la cuenca del Verde (2021).
<a href="/tesis/ruiz.pdf">Texto completo</a></li></ul>""",
}


class Handler(BaseHTTPRequestHandler):
    """Answers with the page or document of a path."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in DOCUMENTS:
            self._send(200, "application/pdf", DOCUMENTS[path])
        elif path in PAGES:
            self._send(200, "text/html; charset=utf-8", f"<!doctype html><html lang=es>{PAGES[path]}</html>".encode())
        else:
            self._send(404, "text/plain", b"not found\n")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not printed."""


if __name__ == "__main__":
    port = sys.argv[1] if len(sys.argv) > 1 else "8766"
    try:
        server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    except (OSError, ValueError, OverflowError) as problem:
        sys.exit(f"faculty: cannot listen on port {port}: {problem}")
    print(f"A small faculty at http://localhost:{port}/ (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass

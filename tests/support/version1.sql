-- A collection as the first release left it: the tables, and a few rows of one small crawl.
PRAGMA application_id = 1280918351;
PRAGMA journal_mode = WAL;
CREATE TABLE content (seq INTEGER PRIMARY KEY, digest BLOB, n INTEGER, round INTEGER);
INSERT INTO content VALUES(1,X'3131313131313131313131313131313131313131',1,1);
INSERT INTO content VALUES(2,X'3535353535353535353535353535353535353535',5,1);
CREATE TABLE figure (name TEXT, key TEXT, count INTEGER, PRIMARY KEY (name, key)) WITHOUT ROWID;
INSERT INTO figure VALUES('status','200',3);
INSERT INTO figure VALUES('status','404',1);
INSERT INTO figure VALUES('stored','1',1);
INSERT INTO figure VALUES('type','application/xml',1);
INSERT INTO figure VALUES('type','text/html',2);
CREATE TABLE holder (digest BLOB PRIMARY KEY, seq INTEGER) WITHOUT ROWID;
CREATE TABLE host (
    host INTEGER PRIMARY KEY, name TEXT NOT NULL, next_at REAL NOT NULL DEFAULT 0, delay_s REAL NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0, errors INTEGER NOT NULL DEFAULT 0, part INTEGER AS ((host >> 56) + 128)
);
INSERT INTO host VALUES(-3291601044646552918,'a.test',0.0,0.0,1,0);
INSERT INTO host VALUES(2629385805233278046,'b.test',0.0,0.0,0,0);
CREATE TABLE inbox (host INTEGER PRIMARY KEY);
INSERT INTO inbox VALUES(-3291601044646552918);
CREATE TABLE known (host INTEGER, id INTEGER, n INTEGER, PRIMARY KEY (host, id)) WITHOUT ROWID;
CREATE TABLE link (n INTEGER, round INTEGER, links BLOB, PRIMARY KEY (n, round)) WITHOUT ROWID;
INSERT INTO link VALUES(1,1,X'01');
CREATE TABLE lowered (n INTEGER PRIMARY KEY);
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES('created',1000.0);
INSERT INTO meta VALUES('last_run','{"ended_by":"","seconds":20.5,"stored":1}');
INSERT INTO meta VALUES('mission','name = ''old''');
INSERT INTO meta VALUES('round',1);
INSERT INTO meta VALUES('schema',1);
CREATE TABLE moved (name TEXT PRIMARY KEY, upto INTEGER NOT NULL, mover TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO moved VALUES('content',0,'');
INSERT INTO moved VALUES('url',0,'');
CREATE TABLE page (
    n INTEGER, round INTEGER, fetched_at REAL, status INTEGER, mime TEXT, charset TEXT, title TEXT, language TEXT,
    kind TEXT, size INTEGER, digest BLOB, etag TEXT, last_modified TEXT, server_date TEXT, warc TEXT, offset INTEGER,
    length INTEGER, PRIMARY KEY (n, round)
) WITHOUT ROWID;
INSERT INTO page VALUES(1,1,1001.0,200,'text/html','','Home','','',0,X'3131313131313131313131313131313131313131','"e1"','Mon, 04 Mar 2024 10:00:00 GMT','','w.warc.gz',0,10);
INSERT INTO page VALUES(2,1,1002.0,200,'text/html','','','','',0,X'3131313131313131313131313131313131313131','','','','',0,0);
INSERT INTO page VALUES(5,1,1004.0,200,'application/xml','','','','',0,X'3535353535353535353535353535353535353535','','','','',0,0);
CREATE TABLE part (
    part INTEGER PRIMARY KEY, owner TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0
);
CREATE TABLE record (id INTEGER PRIMARY KEY, n INTEGER, round INTEGER, mission TEXT, kind TEXT, json TEXT);
CREATE TABLE robots (origin TEXT PRIMARY KEY, fetched_at REAL, status INTEGER, body BLOB) WITHOUT ROWID;
CREATE TABLE seed (n INTEGER PRIMARY KEY, given INTEGER);
INSERT INTO seed VALUES(1,1);
CREATE TABLE stat (state INTEGER, reason TEXT, count INTEGER, PRIMARY KEY (state, reason)) WITHOUT ROWID;
INSERT INTO stat VALUES(0,'',0);
INSERT INTO stat VALUES(1,'',2);
INSERT INTO stat VALUES(3,'',1);
INSERT INTO stat VALUES(6,'http-404',1);
INSERT INTO stat VALUES(8,'scope',1);
CREATE TABLE strike (n INTEGER PRIMARY KEY, count INTEGER);
CREATE TABLE tally (host INTEGER, key TEXT, count INTEGER, PRIMARY KEY (host, key)) WITHOUT ROWID;
CREATE TABLE url (
    n INTEGER PRIMARY KEY, host INTEGER, id INTEGER, url TEXT, state INTEGER, reason TEXT, score REAL, depth INTEGER,
    hops INTEGER, parent INTEGER, seed INTEGER, via TEXT, anchor TEXT, context TEXT, original TEXT,
    http INTEGER DEFAULT 0,
    fetched_at REAL, due REAL DEFAULT 0, retries INTEGER DEFAULT 0, interval REAL DEFAULT 0, redirect TEXT DEFAULT '',
    modified TEXT DEFAULT '', etag TEXT DEFAULT '', digest BLOB DEFAULT x''
);
INSERT INTO url VALUES(1,-3291601044646552918,7679816403455776750,'http://a.test/',1,'',0.0,0,0,0,1,'seed','','','',200,1001.0,0.0,0,0.0,'','Mon, 04 Mar 2024 10:00:00 GMT','"e1"',X'3131313131313131313131313131313131313131');
INSERT INTO url VALUES(2,-3291601044646552918,6759136513626299164,'http://a.test/1',3,'',0.0,1,0,1,0,'a','','','',200,1002.0,0.0,0,0.0,'','','',X'3131313131313131313131313131313131313131');
INSERT INTO url VALUES(3,-3291601044646552918,6361114624519365920,'http://a.test/2',6,'http-404',0.0,1,0,1,0,'a','','','',404,1003.0,0.0,0,0.0,'','','',X'');
INSERT INTO url VALUES(4,2629385805233278046,-3887965074533014992,'http://b.test/',8,'scope',0.0,1,0,1,0,'a','','','',0,NULL,0.0,0,0.0,'','','',X'');
INSERT INTO url VALUES(5,-3291601044646552918,7164647316996711518,'http://a.test/sitemap.xml',1,'',0.0,0,0,0,0,'sitemap','','','',200,1004.0,0.0,0,0.0,'','','',X'3535353535353535353535353535353535353535');
CREATE INDEX pending ON url (host, score DESC) WHERE state = 0;
CREATE INDEX waiting ON url ((host >> 56) + 128, due) WHERE state = 9;
CREATE TABLE warc (name TEXT PRIMARY KEY, size INTEGER) WITHOUT ROWID;
INSERT INTO warc VALUES('w.warc.gz',10);
CREATE VIEW urls AS
    SELECT url.n, url.url, host.name AS host, CASE url.state WHEN 0 THEN 'unfetched' WHEN 1 THEN 'fetched' WHEN 2 THEN 'not modified' WHEN 3 THEN 'duplicate' WHEN 4 THEN 'redirected for now' WHEN 5 THEN 'redirected for good' WHEN 6 THEN 'gone' WHEN 7 THEN 'failed' WHEN 8 THEN 'rejected' WHEN 9 THEN 'waiting for a retry' END AS state, url.reason, url.http,
           url.score, url.depth, url.hops, url.seed, url.via, parent.url AS parent, url.anchor, url.context,
           coalesce(nullif(url.original, ''), url.url) AS original,
           datetime(url.fetched_at, 'unixepoch') AS fetched, url.retries, url.redirect, url.modified, url.etag
    FROM url JOIN host USING (host) LEFT JOIN url AS parent ON parent.n = url.parent;
CREATE VIEW pages AS
    SELECT page.n, url.url, host.name AS host, datetime(page.fetched_at, 'unixepoch') AS fetched, page.status,
           page.mime, page.charset, page.title, page.language, page.kind, page.size, lower(hex(page.digest)) AS digest,
           page.last_modified, page.server_date, page.warc, page.offset, page.length, page.round
    FROM page JOIN url USING (n) JOIN host USING (host) WHERE url.via IS NOT 'sitemap';
WITH RECURSIVE parts (part) AS (SELECT 0 UNION ALL SELECT part + 1 FROM parts WHERE part < 255)
INSERT INTO part (part) SELECT part FROM parts;

"""Walls as their vendors document them, written anew, and honest pages that look a little like them."""

# ruff: noqa: E501  the pages are as long as they are

from __future__ import annotations

from msgspec import Struct


class Sample(Struct, frozen=True):
    """An answer: what it is, and what comes. `code`: the reason it must be told with; empty: it is a page."""

    name: str
    code: str
    body: str
    status: int = 200
    headers: dict[str, str] = {}
    path: str = "/articles/7"


def page(title: str, body: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{title}</title>{head}</head><body>{body}</body></html>"


def _challenge(title: str, words: str, script: str) -> str:
    return page(title, f"<h1>{title}</h1><p>{words}</p><div id=box></div><script>{script}</script>")


_CF = "(function(){window._cf_chl_opt={cvId:'3',cType:'managed',cRay:'8f0',cH:'x'};var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=8f0';})();"
_NOISE = "var q=[];for(var i=0;i<9;i++){q.push(i*i)}"
_LOGIN = '<form method=post action="{action}"><label>User <input name=user></label><label>Password <input type=password name=password></label>{hidden}<button>Log in</button></form>'
_SITE = "<nav>" + "".join(f"<a href=/s/{n}>Section {n}</a> " for n in range(60)) + "</nav>"


def _login(
    name: str, *, action: str = "/login", hidden: str = "", title: str = "Members", path: str = "/articles/7"
) -> Sample:
    return Sample(
        name, "login", page(title, f"<h1>{title}</h1>" + _LOGIN.format(action=action, hidden=hidden)), path=path
    )


def _not_found(name: str, title: str, words: str = "", code: str = "soft-404", nav: str = "") -> Sample:
    return Sample(name, code, page(title, f"{nav}<h1>{title}</h1><p>{words}</p><p><a href=/>Home</a></p>"))


WALLS = [
    Sample(
        "anubis",
        "challenge:anubis",
        page(
            "Making sure you&#39;re not a bot!",
            "<main><h1 id=title class=centered-div>Making sure you&#39;re not a bot!</h1><img src=/.within.website/x/cmd/anubis/static/img/pensive.webp><p id=status>Loading...</p></main>",
            '<script id="anubis_version" type="application/json">"v1.19"</script><script id="anubis_challenge" type="application/json">{"rules":{"algorithm":"fast","difficulty":4}}</script>',
        ),
    ),
    Sample(
        "anubis in German",
        "challenge:anubis",
        page(
            "Es wird geprüft, ob Sie kein Bot sind",
            "<h1>Moment</h1><script async type=module src='/.within.website/x/cmd/anubis/static/js/main.mjs?cacheBuster=v1'></script>",
        ),
    ),
    Sample(
        "anubis without scripts",
        "challenge:anubis",
        page(
            "Making sure you're not a bot!",
            "<h1>Please wait</h1>",
            "<meta http-equiv=refresh content='4; url=/.within.website/x/cmd/anubis/api/pass-challenge?id=1'>",
        ),
    ),
    Sample(
        "anubis under a prefix",
        "challenge:anubis",
        page("Please wait", "<p>…</p>", '<script id="anubis_base_prefix" type="application/json">"/app"</script>'),
    ),
    Sample(
        "cloudflare managed",
        "challenge:cloudflare",
        _challenge("Just a moment...", "Enable JavaScript and cookies to continue", _CF),
        403,
        {"cf-mitigated": "challenge", "server": "cloudflare"},
    ),
    Sample(
        "cloudflare with 200",
        "challenge:cloudflare",
        _challenge("Just a moment...", "Verifying you are human. This may take a few seconds.", _CF),
    ),
    Sample(
        "cloudflare in French",
        "challenge:cloudflare",
        _challenge("Un instant…", "Vérification de la sécurité de votre connexion", _CF),
        503,
    ),
    Sample(
        "cloudflare's five seconds",
        "challenge:cloudflare",
        page(
            "Just a moment...",
            "<div class=cf-browser-verification><h1>Checking your browser before accessing x.org.</h1><form id=challenge-form action='/x?__cf_chl_f_tk=1'></form></div>",
        ),
        503,
    ),
    Sample(
        "cloudflare's block",
        "challenge:cloudflare",
        page(
            "Attention Required! | Cloudflare",
            "<div id=cf-wrapper><div id=cf-error-details class=cf-error-details-wrapper><h1>Sorry, you have been blocked</h1><h2>You are unable to access x.org</h2><p>Cloudflare Ray ID: 8f0</p></div></div>",
        ),
        403,
    ),
    Sample("cloudflare by header alone", "challenge:cloudflare", "", 403, {"cf-mitigated": "challenge"}),
    Sample("aws waf, empty", "challenge:aws-waf", "", 202, {"x-amzn-waf-action": "challenge", "server": "awselb/2.0"}),
    Sample("aws waf, no header", "challenge:aws-waf", "", 202, {"server": "CloudFront"}),
    Sample(
        "aws waf captcha",
        "challenge:aws-waf",
        page("Human Verification", "<div id=captcha-container></div><script>AwsWafCaptcha.renderCaptcha()</script>"),
        405,
        {"x-amzn-waf-action": "captcha"},
    ),
    Sample(
        "aws waf script",
        "challenge:aws-waf",
        page(
            "",
            "<div id=challenge-container></div><script>window.gokuProps={key:'a',iv:'b'};</script><script src='https://1.edge.sdk.awswaf.com/1/2/challenge.js'></script><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you are not a robot.</noscript>",
        ),
        202,
    ),
    Sample(
        "datadome",
        "challenge:datadome",
        page(
            "x.org",
            "<p id=cmsg>Please enable JS and disable any ad blocker</p><script>var dd={'rt':'c','cid':'A','hsh':'B','t':'bv','host':'geo.captcha-delivery.com'}</script><script src='https://ct.captcha-delivery.com/c.js'></script>",
        ),
        403,
    ),
    Sample(
        "datadome with 200",
        "challenge:datadome",
        page(
            "x.org",
            "<iframe src='https://geo.captcha-delivery.com/interstitial/?initialCid=A' title='DataDome Device Check'></iframe>",
        ),
    ),
    Sample(
        "perimeterx",
        "challenge:perimeterx",
        page(
            "Access to this page has been denied",
            "<h1>Press &amp; Hold to confirm you are a human (and not a bot).</h1><div id=px-captcha></div><script>window._pxAppId='PX1';</script><script src='/PX1/captcha/captcha.js?a=c'></script>",
        ),
        403,
    ),
    Sample(
        "perimeterx with 200",
        "challenge:perimeterx",
        page(
            "Access to this page has been denied.",
            "<p>Access to this page has been denied because we believe you are using automation tools to browse the website.</p>",
        ),
    ),
    Sample(
        "imperva",
        "challenge:imperva",
        "<html style='height:100%'><head><META NAME=ROBOTS CONTENT='NOINDEX, NOFOLLOW'></head><body><iframe id=main-iframe src='/_Incapsula_Resource?CWUDNSAI=24&xinfo=1-2&incident_id=3'>Request unsuccessful. Incapsula incident ID: 3</iframe></body></html>",
    ),
    Sample(
        "imperva with 403",
        "challenge:imperva",
        page("", "<p>Request unsuccessful. Incapsula incident ID: 894000230038290273</p>"),
        403,
    ),
    Sample(
        "imperva, script alone",
        "challenge:imperva",
        "<html><head><META NAME='ROBOTS' CONTENT='NOINDEX, NOFOLLOW'><script src='/_Incapsula_Resource?SWJIYLWA=5074a744e2e3d891814e9a2dace20bd4'></script></head><body></body></html>",
    ),
    Sample(
        "imperva's bot protection",
        "challenge:imperva",
        page(
            "Pardon Our Interruption",
            "<h1>Pardon Our Interruption</h1><p>As you were browsing something about your browser made us think you were a bot.</p><form id=distilCaptchaForm></form>",
        ),
    ),
    Sample(
        "akamai interstitial",
        "challenge:akamai",
        page(
            "Challenge Validation",
            "<div id=sec-if-cpt-container></div><script src='/_sec/cp_challenge/sec-cpt-4-1.js'></script>",
        ),
    ),
    Sample(
        "akamai verify",
        "challenge:akamai",
        page(
            "",
            "<p></p><script>var i=1;var xhr=new XMLHttpRequest();xhr.open('POST','/_sec/verify?provider=interstitial');</script>",
            "<meta http-equiv=refresh content=\"5; URL='/?bm-verify=AAQ'\">",
        ),
    ),
    Sample(
        "akamai's denial",
        "challenge:akamai",
        page(
            "Access Denied",
            '<h1>Access Denied</h1>You don\'t have permission to access "http://x.org/" on this server.<p>Reference #18.2d351ab8.1557333295.a4e16ab</p>',
        ),
        403,
    ),
    Sample(
        "akamai's denial with 200",
        "challenge:akamai",
        page(
            "Access Denied",
            "<h1>Access Denied</h1>You don't have permission to access this.<p>Reference #18.2d351ab8.1557333295.a4e16ab https://errors.edgesuite.net/18.2d</p>",
        ),
    ),
    Sample(
        "hcaptcha interstitial",
        "challenge:captcha",
        page(
            "Security check",
            "<h1>One more step</h1><p>Please complete the security check to access the site.</p><form><div class=h-captcha data-sitekey=a></div></form><script src='https://js.hcaptcha.com/1/api.js'></script><p>Are you human?</p>",
        ),
    ),
    Sample(
        "recaptcha interstitial",
        "challenge:captcha",
        page(
            "Are you a robot?",
            "<h1>Are you a robot?</h1><p>Confirm that you are human.</p><form><div class=g-recaptcha data-sitekey=a></div></form><script src='https://www.google.com/recaptcha/api.js'></script>",
        ),
    ),
    Sample(
        "turnstile gate",
        "challenge:captcha",
        page(
            "Wiki",
            "<p>Prove you are human to go on.</p><form method=post><div class=cf-turnstile></div></form><script src='https://challenges.cloudflare.com/turnstile/v0/api.js'></script>",
        ),
    ),
    Sample(
        "recaptcha in German",
        "challenge:captcha",
        page(
            "Sicherheitsprüfung",
            "<h1>Sicherheitsprüfung</h1><p>Bitte bestätigen Sie, dass Sie ein Mensch sind.</p><div class=g-recaptcha></div><script src='https://www.recaptcha.net/recaptcha/api.js'></script>",
        ),
    ),
    Sample(
        "sucuri",
        "challenge:sucuri",
        page(
            "Sucuri WebSite Firewall - Access Denied",
            "<h1>Access Denied - Sucuri Website Firewall</h1><p>Block reason: Bad bot access attempt.</p>",
        ),
        403,
        {"x-sucuri-id": "11", "x-sucuri-block": "BNP005"},
    ),
    Sample(
        "sucuri's script",
        "challenge:sucuri",
        page(
            "You are being redirected...",
            "<noscript>Javascript is required. Please enable javascript before you are allowed to see this page.</noscript><script>var s={},u,c,U,r,i,l=0;sucuri_cloudproxy_js=''</script>",
        ),
    ),
    Sample(
        "kasada",
        "challenge:kasada",
        "<!DOCTYPE html><html><head></head><body><script>window.KPSDK={};KPSDK.now=typeof performance!=='undefined'</script><script src='/149e9513-01fa-4fb0-aad4-566afd725d1b/2d206a39-8ed7-437e-a3be-862e0f06eea3/ips.js?x=1'></script></body></html>",
        429,
    ),
    Sample(
        "ddos-guard",
        "challenge:ddos-guard",
        page(
            "DDoS-Guard",
            "<h1>Checking your browser before accessing</h1><script src='/.well-known/ddos-guard/js-challenge/index.js'></script>",
        ),
        403,
    ),
    Sample(
        "go-away",
        "challenge:go-away",
        page(
            "Checking you are not a bot",
            "<h1>Please wait</h1><script type=module src='/.well-known/.git.gammaspectra.live/git/go-away/cmd/go-away/challenge/js.mjs'></script>",
        ),
    ),
    Sample(
        "siteground",
        "challenge:siteground",
        "<html><head><meta http-equiv=refresh content='0;/.well-known/sgcaptcha/?r=%2F&y=ipc:1.2.3.4:1'></head></html>",
        202,
        {"sg-captcha": "challenge"},
    ),
    Sample(
        "vercel",
        "challenge:vercel",
        page(
            "Vercel Security Checkpoint",
            "<p>We're verifying your browser</p><script src='/.well-known/vercel/security/static/challenge.v2.min.js'></script>",
        ),
        429,
        {"x-vercel-mitigated": "challenge"},
    ),
    Sample(
        "haproxy protection",
        "challenge:haproxy",
        page(
            "Hold on...",
            "<h3>Checking your browser for robots</h3><script src='/.basedflare/js/challenge.min.js'></script>",
        ),
        403,
    ),
    Sample(
        "f5",
        "challenge:f5",
        "<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. Please consult with your administrator.<br><br>Your support ID is: 1153</body></html>",
    ),
    Sample(
        "wordfence",
        "challenge:wordfence",
        page(
            "Your access to this site has been limited",
            "<h1>Your access to this site has been limited by the site owner</h1><p>Generated by Wordfence at Mon, 1 Jan</p>",
        ),
        503,
    ),
    Sample(
        "qrator",
        "challenge:qrator",
        "<html><head><script src='/__qrator/qauth_utm_v2.js'></script></head><body></body></html>",
        401,
    ),
    Sample(
        "aliyun",
        "challenge:aliyun",
        "<html><head><meta name='aliyun_waf_aa' content='1'></head><body><script>var arg1='A';document.cookie='acw_sc__v2='+arg1</script></body></html>",
    ),
    Sample(
        "radware",
        "challenge:radware",
        page(
            "Radware Captcha Page",
            "<p>We apologize for the inconvenience</p><script src='https://validate.perfdrive.com/fb/captcha.js'></script>",
        ),
    ),
    Sample(
        "amazon",
        "challenge:amazon",
        page(
            "Robot Check",
            "<h4>Enter the characters you see below</h4><p>Sorry, we just need to make sure you're not a robot.</p><form action='/errors/validateCaptcha'><input name=field-keywords></form>",
        ),
    ),
    Sample(
        "unusual traffic",
        "challenge:google",
        page(
            "https://x.org/",
            "<p>Our systems have detected unusual traffic from your computer network.</p><form action='/sorry/index'><input type=hidden name=q></form>",
        ),
        429,
    ),
    Sample(
        "unknown maker",
        "challenge:browser",
        _challenge("Checking your browser", "This process is automatic. Your browser will redirect shortly.", _NOISE),
    ),
    Sample(
        "unknown maker in German",
        "challenge:browser",
        _challenge("Einen Moment bitte…", "Ihr Browser wird überprüft.", _NOISE),
    ),
    Sample(
        "javascript and cookies",
        "challenge:browser",
        page("x.org", f"<p>Please enable JavaScript and cookies to continue.</p><script>{_NOISE}</script>"),
    ),
    Sample(
        "consent in German",
        "consent",
        page(
            "Bevor Sie zu Video fortfahren",
            "<h1>Bevor Sie zu Video fortfahren</h1><p>Wir verwenden Cookies und Daten, um Dienste bereitzustellen.</p><form action='https://consent.x.org/save'><button>Alle akzeptieren</button><button>Alle ablehnen</button></form>",
        ),
    ),
    Sample(
        "consent of a publisher",
        "consent",
        page(
            "Privacy settings",
            "<h1>We value your privacy</h1><p>We and our 812 partners store and access information on your device.</p><form action='/privacy-gate/accept'><button>Agree and continue</button></form>",
        ),
    ),
    Sample(
        "consent in French",
        "consent",
        page(
            "Cookies",
            "<h1>Avant de continuer</h1><p>Nous utilisons des cookies.</p><form action='/consent?u=/a'><button>J'accepte</button></form>",
        ),
    ),
    _not_found("google's 404", "Error 404 (Not Found)!!1", "That’s an error."),
    _not_found("plain 404", "404 Not Found"),
    _not_found(
        "wordpress 404",
        "Page not found – Village Gazette",
        "It looks like nothing was found at this location.",
        nav=_SITE,
    ),
    _not_found("404 in German", "Seite nicht gefunden | Stadt Musterhausen", "Die Seite existiert nicht.", nav=_SITE),
    _not_found("404 in French", "Page introuvable - Mairie", "La page demandée est introuvable."),
    _not_found("404 in Spanish", "Página no encontrada", "Lo sentimos, la página no existe."),
    _not_found("404 in Russian", "Страница не найдена", "Ошибка 404"),
    _not_found("404 in Chinese", "页面不存在", "您访问的页面不存在"),
    _not_found("404 in Japanese", "ページが見つかりません", "お探しのページは見つかりませんでした"),
    _not_found("an error said politely", "Sorry, this page does not exist", "The page may have been removed."),
    _not_found("maintenance", "Under maintenance", "We are back soon.", code="soft-error"),
    _not_found("database down", "Database Error", "Error establishing a database connection", code="soft-error"),
    _login("login with the way back", hidden="<input type=hidden name=next value='/articles/7'>"),
    _login("login with the way back in its address", action="/auth?redirect_to=https%3A%2F%2Fx.org%2Farticles%2F7"),
    _login("login in place of a file", path="/files/report.pdf"),
]

_LONG = (
    "The committee met on Tuesday and spoke about the harbour, the price of fish, and the weather of the week. " * 12
)
_SHORT = "The harbour is closed on Monday."


def _honest(name: str, title: str, body: str, head: str = "", **more: object) -> Sample:
    return Sample(name, "", page(title, body, head), **more)  # type: ignore[arg-type]


_GUARD_SCRIPTS = {
    "cloudflare's sensor": "<script>(function(){var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';document.head.appendChild(a)})();</script>",
    "datadome's tag": "<script src='https://js.datadome.co/tags.js' async></script>",
    "perimeterx's sensor": "<script>window._pxAppId='PX1';(function(){var p=document.createElement('script');p.src='/PX1/init.js'})()</script>",
    "imperva's sensor": "<script src='/_Incapsula_Resource?SWJIYLWA=719d34d31c8e3a6e6fffd425f7e032f3&ns=2&cb=1'></script>",
    "akamai's sensor": "<script src='/akam/13/5a3c1b' defer></script>",
    "aws waf's client": "<script src='https://1.edge.sdk.awswaf.com/1/2/challenge.js' defer></script>",
    "recaptcha 3": "<script src='https://www.google.com/recaptcha/api.js?render=KEY'></script>",
    "a counter": "<script>var _paq=[];</script>",
    "google tags": "<script async src='https://www.googletagmanager.com/gtag/js?id=G-1'></script>",
    "siteground's cache": "<script src='/wp-content/plugins/sg-cachepress/assets/js/lazysizes.min.js'></script>",
}
_BODIES = {
    "a short note": ("Harbour", f"<h1>Harbour</h1><p>{_SHORT}</p>"),
    "a long text": ("Harbour", f"<h1>Harbour</h1><p>{_LONG}</p>"),
    "a contact form": (
        "Contact",
        "<h1>Contact</h1><form><input name=name><input type=email name=mail><textarea name=text></textarea><div class=g-recaptcha></div><button>Send</button></form>",
    ),
    "a list": (
        "Boats",
        "<h1>Boats</h1><ul>" + "".join(f"<li><a href=/b/{n}>Boat {n}</a></li>" for n in range(9)) + "</ul>",
    ),
    "a form to sign up": (
        "Join us",
        "<h1>Join us</h1><form><input name=user><input type=email name=mail><input type=password name=a autocomplete=new-password><input type=password name=b><div class=h-captcha></div><button>Join</button></form>",
    ),
    "a search form": ("Search", "<h1>Search</h1><form><input type=search name=q><button>Find</button></form>"),
    "a picture": ("Sunset", "<h1>Sunset</h1><img src=/sunset.jpg alt='The sun over the harbour'>"),
}
_ABOUT = {
    "about captchas": (
        "What is a CAPTCHA?",
        "A captcha asks whether you are a robot or a human. Sites show it with scripts and cookies.",
    ),
    "about anubis": (
        "Anubis: weigh the soul of requests",
        "Anubis makes sure that visitors are not bots. It serves /.within.website/x/cmd/anubis/ and anubis_challenge.",
    ),
    "about cloudflare": (
        "Cloudflare's Just a moment page",
        "The page says: Just a moment... Enable JavaScript and cookies to continue. It sets _cf_chl_opt.",
    ),
    "about datadome": (
        "How DataDome works",
        "Blocked visitors are sent to geo.captcha-delivery.com, where a captcha waits.",
    ),
    "about 404": (
        "How to make a good 404 page",
        "A page that says 404 Not Found should help: say that the page was not found and offer a search.",
    ),
    "about error 404": (
        "HTTP 404 - Encyclopedia",
        "HTTP 404, or Not Found, is an error of the web: the page could not be found.",
    ),
    "about logins": ("How to write a log-in form", "Use input type=password, and a hidden field next."),
    "about consent": (
        "Our cookie policy",
        "We use cookies for the session only. You can accept or reject them in your browser.",
    ),
    "about robots": ("Robots in the harbour", "Are you a robot? asks the gate. It is human to laugh."),
    "a moment": (
        "Just a moment with the mayor",
        "Just a moment of your time, she said, and checked her browser history of boats.",
    ),
    "a poem": ("Just a moment", "Just a moment, said the sea, and waited."),
    "about access": (
        "Access denied: the history of the pier",
        "In 1950 access to the pier was denied to all but fishermen.",
    ),
    "about maintenance": (
        "Maintenance of nets",
        "Nets are under maintenance each spring, and the boats are temporarily unavailable.",
    ),
    "a status page": ("Status", "All services are up. Last error: 503 Service Unavailable on 3 May, for 2 minutes."),
    "not found in the sea": ("Lost and not found", "Ships that were lost and were not found since 1850."),
    "a row of a table": ("parts: part: 404", "id 404, part wheel, price 7"),
    "room 404": ("Room 404", "The room is on the fourth floor, beside the library."),
}
_CODE = "<pre><code>&lt;script id=&quot;anubis_challenge&quot; src=&quot;/.within.website/x/cmd/anubis/static/main.mjs&quot;&gt;\nwindow._cf_chl_opt = {{}}; &lt;div id=&quot;px-captcha&quot;&gt;\n{}</code></pre>"

NEIGHBOURS = [
    *(
        _honest(f"{body} with {guard}", title, html, script)
        for guard, script in _GUARD_SCRIPTS.items()
        for body, (title, html) in _BODIES.items()
    ),
    *(_honest(f"{name}, short", title, f"<h1>{title}</h1><p>{text}</p>") for name, (title, text) in _ABOUT.items()),
    *(
        _honest(
            f"{name}, short, with a counter",
            title,
            f"<h1>{title}</h1><p>{text} {_SHORT}</p>",
            "<script>var _paq=[];</script>",
        )
        for name, (title, text) in _ABOUT.items()
        if name != "a poem"
    ),
    *(
        _honest(f"{name}, long", title, f"<h1>{title}</h1><p>{text}</p><p>{_LONG}</p>")
        for name, (title, text) in _ABOUT.items()
    ),
    *(
        _honest(f"{name}, with code", title, f"<h1>{title}</h1><p>{text}</p>" + _CODE.format("Request Rejected"))
        for name, (title, text) in _ABOUT.items()
    ),
    *(
        Sample(
            f"a log-in page at {path}",
            "",
            page(
                "Log in",
                "<h1>Log in</h1>" + _LOGIN.format(action=path, hidden="<input type=hidden name=next value='/'>"),
            ),
            path=path,
        )
        for path in (
            "/login",
            "/users/sign_in",
            "/wp-login.php",
            "/account/",
            "/auth/realms/x",
            "/anmelden/",
            "/sso",
            "/session/new",
            "/identifier",
            "/acceso",
            "/",
        )
    ),
    *(
        _honest(
            f"{title}, with {count} words beside a log-in box",
            title,
            f"<h1>{title}</h1><p>{' '.join(['word'] * count)}</p>" + _LOGIN.format(action="/login", hidden=""),
            path=f"/forum/{count}-{title}",
        )
        for title in ("Thread", "Downloads", "Library")
        for count in (120, 200, 400, 900)
    ),
    *(
        _honest(
            f"a banner for cookies, {name}",
            title,
            f"<div id=banner><p>We use cookies.</p><form action=/consent><button>Accept</button></form></div>{html}",
            path="/news/1",
        )
        for name, (title, html) in _BODIES.items()
    ),
    *(
        _honest(
            f"a shell of {root}",
            "App",
            f"<div id={root}></div><noscript>You need to enable JavaScript to run this app.</noscript><script src=/static/main.js></script>",
        )
        for root in ("root", "app", "__next", "__nuxt", "___gatsby")
    ),
    *(_honest(f"empty {kind}", "", f"<{kind}></{kind}>") for kind in ("main", "article", "section", "div")),
    *(
        Sample(
            f"an error that says so, {status}",
            "",
            page("Error", f"<h1>{status}</h1><p>The server is busy.</p>"),
            status,
        )
        for status in (401, 403, 405, 429, 503)
    ),
    *(
        _honest(f"results {n}", f"Results {n}", f"<h1>Results {n}</h1><p>No boats were found in {1900 + n}.</p>")
        for n in range(20)
    ),
    *(
        _honest(f"answer {n}", f"Question {n}: page not found, what now?", f"<p>{_LONG[: 900 + n]}</p>")
        for n in range(3)
    ),
]

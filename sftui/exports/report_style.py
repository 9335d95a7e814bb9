"""The style sheet of the report: light and dark, wide and narrow, readable without colour."""

STYLE = """
:root{--bg:#fff;--fg:#1b1f24;--dim:#57606a;--line:#c9d1d9;--box:#f6f8fa;--link:#0a4fb3;--on:#0b6b2e;--onbg:#dff3e4;
--off:#57606a;--cut:#8a4b00;--err:#a8121e;--warn:#7a4a00;--info:#0a4fb3;--bar:#2f6f9f}
@media (prefers-color-scheme:dark){:root{--bg:#101418;--fg:#e6e9ec;--dim:#a3adb8;--line:#3b4450;--box:#181e25;
--link:#8ab8ff;
--on:#7fe0a0;--onbg:#12321f;--off:#a3adb8;--cut:#f0b060;--err:#ff9a9f;--warn:#f0c060;--info:#8ab8ff;--bar:#6fb0dc}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:0 1rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,sans-serif;
overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:1rem 0 .5rem}h2{font-size:1.25rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.5rem 0 .25rem}
a{color:var(--link)}a:focus-visible,.tokens:focus-visible,summary:focus-visible{outline:3px solid var(--link);
outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{position:static}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:.25rem 1.5rem;margin:0}
dl div{min-width:0}dt{color:var(--dim);font-size:.85rem}dd{margin:0}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;padding:0;margin:1rem 0}
table{border-collapse:collapse;width:100%;font-size:.9rem;margin:.5rem 0}
caption{text-align:left;color:var(--dim);padding:.25rem 0}
th,td{text-align:left;vertical-align:top;padding:.25rem .5rem .25rem 0;border-bottom:1px solid var(--line);
font-weight:400}
thead th{color:var(--dim);overflow-wrap:normal}th a,td .sev{white-space:nowrap}.n{text-align:right;
font-variant-numeric:tabular-nums}
svg{display:block;width:100%;max-width:34rem;height:auto;margin:.5rem 0}
svg text{fill:var(--fg);font:11px system-ui,sans-serif}svg .bar{fill:var(--bar)}svg .axis{stroke:var(--line)}
.sev{font-weight:700}.error{color:var(--err)}.warning{color:var(--warn)}.info{color:var(--info)}
.finding{border-left:.25rem solid var(--line);padding-left:.75rem;margin:.75rem 0}.finding p{margin:.1rem 0}
.place{color:var(--dim);font-size:.9rem}
.tokens{font:14px/1.9 ui-monospace,monospace;background:var(--box);border:1px solid var(--line);padding:.4rem .6rem;
margin:.4rem 0;
max-height:16rem;overflow:auto}
.on{color:var(--on);background:var(--onbg);font-weight:700;border-bottom:2px solid currentColor}
.off{color:var(--off)}.cut{color:var(--cut);text-decoration:line-through}
.t+.t{margin-left:.35em}mark{background:none;color:var(--fg);font-weight:700}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
code{font-family:ui-monospace,monospace}pre{white-space:pre-wrap;font-family:ui-monospace,monospace;font-size:.85rem;
margin:.25rem 0}
footer{color:var(--dim);margin:2rem 0}
@media (max-width:40rem){th,td{padding-right:.35rem;font-size:.8rem}}
@media print{.tokens{max-height:none}}
""".replace("\n", "")

// Writes found.json: what JavaScript finds. Run it as: node found.mjs
import {writeFileSync} from "node:fs";

const cases = [
  ["decode_length", "i", ["calls Decode_Length(x)", "decode length", ""]],
  ["after \\d+ (turns|iterations)|blocked", "i", ["stop AFTER 20 turns", "after ٣ turns", "Blocked"]],
  ["^b$", "", ["b", "a\nb", "b\n"]],
  ["^b$", "m", ["a\nb\nc", "ab"]],
  ["^(?:[^/\\n])*filesize\\s*<\\s*(?:0[xX][0-9A-Fa-f]{3,}|\\d[\\d_]*\\s*(?:KB|MB|GB))", "im",
    ["rule {\n  filesize < 2MB", "// filesize < 2MB", "Filesize\u00a0< 0xfff"]],
  ["a.c", "", ["abc", "a\nc", "a\u2028c", "a\u0085c", "aéc"]],
  ["a.c", "s", ["a\nc", "ac", "a\u2029c"]],
  ["\\s", "", ["\u00a0", "\ufeff", "\u3000", "\v", "\u0085", "\u180e", "x"]],
  ["\\S", "", ["\u00a0", "\ufeff", "\u0085", "\u180e", "x", " ", "\t"]],
  ["[\\sx]", "", ["\u2003", "x", "y"]],
  ["[^\\s]", "", ["\u2003", "y", "\ufeff"]],
  ["[^\\S\\n]", "", [" ", "\n", "x", "\u00a0"]],
  ["\\bfoo\\b", "", ["a foo b", "foobar", "éfooé"]],
  ["\\Bo", "", ["foo", "o"]],
  ["a{2}", "", ["a", "aa"]], ["a{,2}", "", ["a{,2}", "aa"]], ["x{", "", ["x{", "x"]], ["{a}", "", ["{a}", "a"]],
  ["a]", "", ["a]", "a"]], ["a}", "", ["a}", "a"]],
  ["[]", "", ["", "a", "]"]], ["a[^]b", "", ["a\nb", "ab"]],
  ["[[:alpha:]]", "", ["a]", "a", ":]", "[]"]], ["[a-]", "", ["-", "a", "b"]], ["[-a]", "", ["-", "b"]],
  ["[a-c-e]", "", ["b", "d", "-", "e"]], ["[\\w-z]", "", ["-", "q", "~"]], ["[--/]", "", [".", "-", "0"]],
  ["[\\b]", "", ["\b", "b"]], ["[^\\d-x]", "", ["-", "x", "y", "4"]], ["[&&]", "", ["&", "a"]],
  ["\\/\\-\\\"", "", ["/-\"", "\\/"]], ["\\a\\z\\A\\Q", "", ["azAQ", "\u0007"]], ["\\p{L}", "", ["p{L}", "é", "L"]],
  ["\\p{L}", "u", ["é", "1"]], ["\\P{Lu}", "u", ["A", "a"]], ["\\p{Script=Greek}", "u", ["α", "a"]],
  ["[\\p{L}-]", "u", ["-", "é", "1"]],
  ["\\u0041\\x42\\u{3}", "", ["ABuuu", "AB\u0003", "abuuu"]], ["\\u{1F600}", "u", ["😀", "u"]], ["\\u{41}", "v", ["A"]],
  ["\\x4", "", ["x4", "\u0004"]], ["\\0", "", ["\0", "0"]], ["\\cA", "", ["\u0001", "A"]],
  ["(?<year>\\d{4})-(?<month>\\d\\d)", "", ["2026-11", "26-11"]], ["(?:ab)+?c", "", ["ababc", "c"]],
  ["(a*)*b", "", ["aab", "b", "a"]], ["(a|ab)(c|bcd)", "", ["abcd", "ad"]],
  ["(?<![\\s\\S])once(?![\\s\\S])", "m", ["once", "a\nonce", "once\n"]],
  ["foo", "y", ["foo bar", "a foo"]], ["a|b", "y", ["b", "cb", "a"]], ["foo", "gd", ["foofoo", "bar"]],
  ["straße|K", "i", ["STRASSE", "k", "straße"]], ["\\w+", "g", ["one two_3 é", "--"]],
  ["--", "", ["a--b", "a-b"]], ["~&^", "", ["~&"]], ["$", "m", ["x"]], ["tab\\there", "", ["tab\there"]],
  ["^(?:[^/\\n]|/(?![/*]))*filesize\\s*<", "im",
    ["rule {\n  filesize <", "// filesize <", "/* filesize <", "a/b filesize <", "/\nfilesize <", "x / /filesize <"]],
  ["a(?!b)", "i", ["ab", "AB a", "a", "ac", "aB"]], ["a(?=b)", "", ["a", "ab", "ac"]], ["(?!a)(?!b).", "", ["ab", "abc"]],
  ["(?:a(?![b-d]))+x?", "", ["ab", "aax", "ad a"]], ["(?=[a-c])(?!b)\\w{2}", "", ["b1", "c1", "d1", "a"]],
  ["x(?!y)$", "m", ["x\ny", "xy", "x"]], ["x(?=\\n)$", "m", ["x\ny", "x"]], ["x(?!é|\\d)", "", ["xé", "x5", "x"]],
  ["(?:a(?=b)|b(?=a))*c", "", ["ababc", "abac", "c", "abc"]],
  ["é+", "", ["éé"]], ["a#b c", "", ["a#b c", "a"]], ["[^/\\\\]", "", ["/", "\\", "x"]],
];
const found = [];
for (const [pattern, flags, texts] of cases)
  for (const text of texts)
    found.push({
      pattern, flags, text, found: new RegExp(pattern, flags).test(text),
      count: (text.match(new RegExp(pattern, flags.includes("g") ? flags : flags + "g")) ?? []).length,
    });
writeFileSync(new URL("found.json", import.meta.url), "[\n" + found.map(f => JSON.stringify(f)).join(",\n") + "\n]\n");

import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { shellWord } from "./shell-word.ts";

test("an ordinary path stays as it is", () => {
  expect(shellWord("../shops/my-shop.2", "linux")).toBe("../shops/my-shop.2");
  expect(shellWord("C:\\shops\\my-shop.2", "win32")).toBe("C:\\shops\\my-shop.2");
});

test.skipIf(process.platform === "win32")("a POSIX shell reads every path literally", () => {
  for (const path of [
    "my shop",
    "a$(echo x)",
    'a"b',
    "it's",
    "a`echo x`",
    "a;b",
    "a\\b",
    "~",
    "*",
    "!!",
    "a\nb",
    "$HOME",
  ]) {
    expect(execFileSync("sh", ["-c", `printf %s ${shellWord(path, "linux")}`], { encoding: "utf8" })).toBe(path);
  }
});

test("a path isn't taken for an option", () => {
  expect(shellWord("-", "linux")).toBe("./-");
  expect(shellWord("-P", "win32")).toBe(".\\-P");
});

test.for([
  ["my shop", '"my shop"'],
  ["Tom & Jerry's", `"Tom & Jerry's"`],
  ["a$(calc)", '"a?(calc)"'],
  ["100 %PATH%", '"100 ?PATH?"'],
  ["a`b!", '"a?b?"'],
  ["a\u201d; calc", '"a?; calc"'],
] as const)("on Windows, no shell expands %j", ([path, word]) => {
  expect(shellWord(path, "win32")).toBe(word);
});

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { Route } from "../definitions/route.ts";
import { Router } from "../router.ts";

const PATTERNS = ["/", "/a", "/a/@id:int", "/a/@word:string", "/a/@any", "/a/@rest:any", "/o/?x:int/?y", "/u/@v:own/z"];
const PATHS = [
  "/",
  "/a",
  "/a/",
  "/a/1",
  "/a/b",
  "/a/1b",
  "/a/1/2",
  "/a//2",
  "/o",
  "/o/1",
  "/o/1/2",
  "/o/x",
  "/u/own/z",
];

/**
 * Returns what each path reaches. Another process runs this function's text, so it must not refer to anything outside.
 */
function answers(define: typeof Route, Make: typeof Router, patterns: readonly string[], paths: readonly string[]) {
  const entries = patterns.map((pattern) => define.get(pattern, () => null).name(pattern));
  const source = { entries, stack: null, prefix: "", respondsWithJson: false, file: "routes/web.ts" };
  const router = new Make([source], { compilers: new Map([["own", (value) => value.startsWith("o")]]) });
  return paths.map((path) => {
    const match = router.match("GET", path, null);
    return match === null ? null : [match.route.name, { ...match.params }];
  });
}

test("the same routes are found if code generation from strings is disallowed", () => {
  const program = `
    import { Route, Router } from ${JSON.stringify(join(import.meta.dirname, "../index.ts"))};
    const answers = ${answers.toString()};
    console.log(JSON.stringify(answers(Route, Router, ${JSON.stringify(PATTERNS)}, ${JSON.stringify(PATHS)})));
  `;
  const args = ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", program];
  const printed = execFileSync(process.execPath, args, { encoding: "utf8" });
  expect(JSON.parse(printed)).toEqual(answers(Route, Router, PATTERNS, PATHS));
});

test("each path reaches the intended route", () => {
  expect(answers(Route, Router, PATTERNS, PATHS)).toEqual([
    ["/", {}],
    ["/a", {}],
    ["/a", {}],
    ["/a/@id:int", { id: "1" }],
    ["/a/@word:string", { word: "b" }],
    ["/a/@any", { any: "1b" }],
    ["/a/@rest:any", { rest: "1/2" }],
    null,
    ["/o/?x:int/?y", { x: null, y: null }],
    ["/o/?x:int/?y", { x: "1", y: null }],
    ["/o/?x:int/?y", { x: "1", y: "2" }],
    null,
    ["/u/@v:own/z", { v: "own" }],
  ]);
});

test("a request costs no more with thousands of routes than with a few", () => {
  const routerOf = (count: number) => {
    const entries = Array.from({ length: count }, (_, index) => Route.get(`/r${index}/@id:int`, () => null));
    return new Router([{ entries, stack: null, prefix: "", respondsWithJson: false, file: "routes/web.ts" }]);
  };
  const timePerMatch = (router: Router) => {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 8; round++) {
      const time = cpuTimeOf(() => {
        for (let index = 0; index < 20_000; index++) router.match("GET", `/r${index % 10}/7`, null);
      });
      best = Math.min(best, time);
    }
    return best;
  };
  const [few, many] = [routerOf(10), routerOf(5000)];
  expect(timePerMatch(many)).toBeLessThan(10 * timePerMatch(few));
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { matchesGlob } from "./path-glob.ts";

/** The documented rule as a simple recursion, to compare the fast version with. */
function naive(path: string[], glob: string[]): boolean {
  const [segment, ...later] = glob;
  if (segment === undefined) return path.length === 0;
  if (path.length === 0) return false;
  if (segment === "*" && path[0] === "") return false;
  if (segment === "*" && later.length === 0) return true;
  return (segment === "*" || naiveSegment(path[0]!, segment)) && naive(path.slice(1), later);
}

function naiveSegment(given: string, wanted: string): boolean {
  const pattern = wanted.split("*").map((part) => decodeURIComponent(part).replace(".", "\\."));
  return new RegExp(`^${pattern.join(".*")}$`).test(decodeURIComponent(given));
}

describe("a glob for paths", () => {
  test.each([
    ["/test", "/test", true],
    ["/test/user", "/test/*", true],
    ["/test/admin/user", "/test/*/user", true],
    ["/dashboard/1/users", "/dashboard/*/users", true],
    ["/anything/at/all", "*", true],
    ["/", "*", true],
    ["/testing", "/test", false],
    ["/a/b/c", "/a/*/d", false],
    ["/test", "/testing", false],
    ["/test/user", "/test", false],
    ["/x/test", "/test", false],
    ["/", "/", true],
    ["/a", "/", false],
  ])("%s and %s: %s", (path, glob, expected) => {
    expect(matchesGlob(path, glob)).toBe(expected);
  });

  test("an inner asterisk matches exactly one segment, not zero and not two", () => {
    expect(matchesGlob("/a/c", "/a/*/c")).toBe(false);
    expect(matchesGlob("/a//c", "/a/*/c")).toBe(false);
    expect(matchesGlob("/a/b/b/c", "/a/*/c")).toBe(false);
  });

  test("a trailing asterisk matches one or more segments, not zero", () => {
    expect(matchesGlob("/test", "/test/*")).toBe(false);
    expect(matchesGlob("/test/", "/test/*")).toBe(false);
    expect(matchesGlob("/test/a/b/c", "/test/*")).toBe(true);
    expect(matchesGlob("/", "/*")).toBe(false);
    expect(matchesGlob("/a/b", "/*")).toBe(true);
  });

  test("a missing leading slash is added, and a trailing one makes no difference", () => {
    expect(matchesGlob("/test/user", "test/*")).toBe(true);
    expect(matchesGlob("/test/", "/test")).toBe(true);
    expect(matchesGlob("/test", "/test/")).toBe(true);
  });

  test.each([
    ["/users", "/user*", true],
    ["/user", "/user*", true],
    ["/users/7", "/user*", false],
    ["/use", "/user*", false],
    ["/users/7", "/user*/*", true],
    ["/files/a.pdf", "/files/*.pdf", true],
    ["/files/.pdf", "/files/*.pdf", true],
    ["/files/a.pdf.exe", "/files/*.pdf", false],
    ["/files/b/a.pdf", "/files/*.pdf", false],
    ["/a-b-c", "/a*b*c", true],
    ["/abc", "/a*b*c", true],
    ["/acb", "/a*b*c", false],
    ["/aba", "/ab*ba", false],
    ["/abba", "/ab*ba", true],
    ["/a*b", "/a%2Ab", true],
    ["/axb", "/a%2Ab", false],
    ["/x", "/**", true],
    ["/a/b", "/**", false],
  ])("an asterisk next to other characters is any text within its segment: %s and %s: %s", (path, glob, expected) => {
    expect(matchesGlob(path, glob)).toBe(expected);
  });

  test("the special characters of other patterns are literal, and case is significant", () => {
    expect(matchesGlob("/axb", "/a.b")).toBe(false);
    expect(matchesGlob("/a", "/[a]")).toBe(false);
    expect(matchesGlob("/a", "/?")).toBe(false);
    expect(matchesGlob("/Test", "/test")).toBe(false);
  });

  test.each([
    ["/%61dmin", "/admin"],
    ["/%61%64%6D%69%6e/%78", "/admin/*"],
    ["/admin", "/%61dmin"],
    ["/b%C3%BCcher", "/bücher"],
    ["/b%c3%bccher", "/b*cher"],
    ["/bu%CC%88cher", "/bücher"],
    ["/b%C3%BCcher", "/bu\u0308cher"],
    ["/a%20b", "/a b"],
    ["/a%20b", "/a%20b"],
    ["/100%25", "/100%25"],
    ["/%zz", "/%zz"],
    ["/%70rivate%2ejson", "/*.json"],
  ])("S166 %s is what %s means, however either is spelled", (path, glob) => {
    expect(matchesGlob(path, glob)).toBe(true);
  });

  test("escapes are decoded once, and an escaped slash separates nothing", () => {
    expect(matchesGlob("/%2561dmin", "/admin")).toBe(false);
    expect(matchesGlob("/admin%2Fx", "/admin/*")).toBe(false);
    expect(matchesGlob("/admin%2Fx", "/*")).toBe(true);
  });

  test("agrees with a naive implementation for any path and glob", () => {
    const segment = fc.constantFrom("", "a", "b", "c", "x.y", "%62", "ab", "aab");
    const path = fc.array(segment, { minLength: 1, maxLength: 7 });
    const glob = fc.array(fc.oneof(segment, fc.constantFrom("*", "a*", "*b", "a*a*b")), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(path, glob, (segments, pattern) => {
        // An empty last segment is a trailing slash, which is tested above.
        const given = segments.length > 1 && segments.at(-1) === "" ? segments.slice(0, -1) : segments;
        const wanted = pattern.length > 1 && pattern.at(-1) === "" ? pattern.slice(0, -1) : pattern;
        expect(matchesGlob(`/${segments.join("/")}`, `/${pattern.join("/")}`)).toBe(naive(given, wanted));
      }),
      { numRuns: 2000 },
    );
  });

  test("asterisks within a segment don't backtrack", () => {
    const time = cpuTimeOf(() => {
      expect(matchesGlob(`/${"a".repeat(100_000)}c`, `/${"a*".repeat(1000)}b`)).toBe(false);
      expect(matchesGlob(`/${"ab".repeat(50_000)}c`, `/*${"b*".repeat(1000)}d*c`)).toBe(false);
    });
    expect(time).toBeLessThan(1000);
  });

  test("a pattern of ten thousand asterisks is matched quickly", () => {
    const path = `/${"a/".repeat(10_000)}b`;
    const time = cpuTimeOf(() => {
      expect(matchesGlob(path, `/${"*/".repeat(10_000)}c`)).toBe(false);
      expect(matchesGlob(path, `/${"*/".repeat(10_000)}b`)).toBe(true);
    });
    expect(time).toBeLessThan(1000);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../test/support/cpu-time.ts";
import { matchesGlob } from "./path-glob.ts";

/** The rule as it is written, by recursion: what the fast version is held against. */
function naive(path: string[], glob: string[]): boolean {
  const [segment, ...later] = glob;
  if (segment === undefined) return path.length === 0;
  if (path.length === 0) return false;
  if (segment === "*" && path[0] === "") return false;
  if (segment === "*" && later.length === 0) return true;
  return (segment === "*" || segment === path[0]) && naive(path.slice(1), later);
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

  test("an asterisk next to other characters, and the special characters of other patterns, are literal", () => {
    expect(matchesGlob("/users", "/us*")).toBe(false);
    expect(matchesGlob("/us*", "/us*")).toBe(true);
    expect(matchesGlob("/axb", "/a.b")).toBe(false);
    expect(matchesGlob("/a", "/[a]")).toBe(false);
    expect(matchesGlob("/a", "/?")).toBe(false);
    expect(matchesGlob("/a/b", "/**")).toBe(false);
  });

  test("case and percent-encoding are significant", () => {
    expect(matchesGlob("/Test", "/test")).toBe(false);
    expect(matchesGlob("/%74est", "/test")).toBe(false);
  });

  test("agrees with a naive implementation for any path and glob", () => {
    const segment = fc.constantFrom("", "a", "b", "c", "x.y");
    const path = fc.array(segment, { minLength: 1, maxLength: 7 });
    const glob = fc.array(fc.oneof(segment, fc.constant("*")), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(path, glob, (segments, pattern) => {
        // A last empty segment is a trailing slash, which is tested above.
        const given = segments.length > 1 && segments.at(-1) === "" ? segments.slice(0, -1) : segments;
        const wanted = pattern.length > 1 && pattern.at(-1) === "" ? pattern.slice(0, -1) : pattern;
        expect(matchesGlob(`/${segments.join("/")}`, `/${pattern.join("/")}`)).toBe(naive(given, wanted));
      }),
      { numRuns: 2000 },
    );
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

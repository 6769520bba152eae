import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuTimeOf } from "../../../test/support/cpu-time.ts";
import { isAmbiguousTarget, targetPath } from "./request-url.ts";

/** All spellings of a segment that some server resolves as `.` or `..`. */
const DOTS = [".", "..", "%2e", "%2E", "%2e%2e", "%2E.", ".%2e", "%2e%2E", "..;", "..;v=1", "%2e%2e;x"];
const SEPARATORS = ["/", "\\", "%2f", "%2F", "%5c", "%5C"];

describe("a request target", () => {
  test.each([
    ...DOTS.flatMap((dots) => [
      `/${dots}`,
      `/x/${dots}/admin`,
      `/admin/${dots}`,
      `http://shop.example/x/${dots}/admin`,
    ]),
    ...SEPARATORS.flatMap((one) => [`/x${one}..${one}admin`, `/x/..${one}admin`, `/x${one}../admin`]),
    ...["/\\admin", "/x\\admin", "/admin#", "/admin#x", "/#/../admin", "/admin?a#b", "http://shop.example\\admin"],
    ...["/a b", "/a\tb", "/a\nb", "/a\x7f", "/\xfc", "/ü", "/\u{1f600}", "http://shop.example/ü"],
  ])("S131 %j can be read as another path", (target) => {
    expect(isAmbiguousTarget(target)).toBe(true);
  });

  test.each([
    ...[
      "/",
      "*",
      "/admin",
      "/admin/",
      "//admin",
      "/a//b",
      "/a/b.c",
      "/.well-known/x",
      "/...",
      "/..a",
      "/a..",
      "/a/.b/c",
    ],
    ...["/%252e%252e/admin", "/a%2eb", "/%2e%2e%2e", "/a%2fb", "/a%5cb", "/%25", "/%zz", "/a;v=1", "/;/a", "/a.;b"],
    ...['/a"<>^`{|}b', "/a'b", "/(a)", "/@a:b", "/%C3%BC", "/~a", "/a|b"],
    ...["/a?next=/x/../b", "/a?next=\\..\\b", "/a?..", "/a?/../b", "/?q=ü", "/a?x=%2e%2e/"],
    ...["http://shop.example", "http://shop.example/", "http://shop.example/a.b", "http://./a", "http://../a?x=/../b"],
  ])("%j can be read in one way", (target) => {
    expect(isAmbiguousTarget(target)).toBe(false);
  });

  test("S131 is refused whenever the URL Standard would change its segments, whatever the target contains", () => {
    const piece = fc.constantFrom("/", "\\", ".", "..", "%2e", "%2E", "%2f", "%5c", "#", "?", ";", "a", "admin", "%61");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const target = `/${pieces.join("")}`;
        if (isAmbiguousTarget(target)) return;
        expect(URL.parse(`http://shop.example${target}`)?.pathname).toBe(target.split("?", 1)[0]);
      }),
      { numRuns: 5000 },
    );
  });

  test("costs linear time, however long it is", () => {
    const time = cpuTimeOf(() => {
      for (const part of ["/..", "/.%2e;", "/.;", "%2f%2e", "/...", "a", "\\"]) {
        isAmbiguousTarget(`/${part.repeat(200_000)}`);
        isAmbiguousTarget(`/${part.repeat(200_000)}!`);
      }
    });
    expect(time).toBeLessThan(1000);
  });

  test.each([
    ["/a/../b?c#d", "/a/../b"],
    ["/a\\b#c?d", "/a\\b"],
    ["http://shop.example\\a/b?c", "\\a/b"],
    ["HTTPS://shop.example:8443", ""],
    ["*", "*"],
  ])("has a path: %s", (target, path) => {
    expect(targetPath(target)).toBe(path);
  });
});

import { expect, test } from "vitest";
import { Code } from "../edits/code.ts";
import { requiringVersion } from "./package-version.ts";

/** A manifest after the change, without white space; `null` if the change can't be made. */
async function changed(manifest: object, version: string): Promise<unknown> {
  const code = requiringVersion(version)(await Code.of(`(${JSON.stringify(manifest)}\n)`, "package.json"));
  return code && JSON.parse(code.text.trim().slice(1, -1));
}

test.each([
  // The range, the version, and the range afterwards.
  ["^0.1.0", "0.1.0", "^0.1.0"],
  ["^0.1.0", "0.1.3", "^0.1.0"],
  ["~0.1.0", "0.1.3", "~0.1.0"],
  ["^0.1.4", "0.1.3", "^0.1.3"],
  ["^0.1.0", "0.2.0", "^0.2.0"],
  ["~0.1.0", "0.2.0", "~0.2.0"],
  ["^1.2.3", "1.5.0", "^1.2.3"],
  ["^1.2.3", "1.2.3", "^1.2.3"],
  ["^1.2.3", "1.2.2", "^1.2.2"],
  ["^1.6.0", "1.5.9", "^1.5.9"],
  ["~1.2.3", "1.5.0", "~1.5.0"],
  ["^1.2.3", "2.2.3", "^2.2.3"],
  ["^0.2.0", "1.2.0", "^1.2.0"],
  ["1.2.3", "1.2.3", "1.2.3"],
  ["1.2.3", "1.2.4", "1.2.4"],
  ["^0.1.0", "0.2.0-rc.1", "^0.2.0-rc.1"],
  // npm installs a prerelease only for a range that names a prerelease of the same version.
  ["^0.1.0", "0.1.1-rc.1", "^0.1.1-rc.1"],
  ["^0.2.0-rc.1", "0.2.0-rc.2", "^0.2.0-rc.1"],
  ["^0.2.0-rc.10", "0.2.0-rc.9", "^0.2.0-rc.9"],
  ["~0.2.0-rc.1", "0.2.0", "~0.2.0-rc.1"],
  ["^0.2.0-rc.1", "0.3.0", "^0.3.0"],
  ["0.2.0-rc.1", "0.2.0", "0.2.0"],
  ["latest", "1.0.0", "latest"],
  ["file:../ashlar", "1.0.0", "file:../ashlar"],
  [">=1.2.3", "1.0.0", ">=1.2.3"],
  ["^1.2.3 || ^2.0.0", "3.0.0", "^1.2.3 || ^2.0.0"],
])("%s with %s becomes %s", async (range, version, after) => {
  for (const list of ["dependencies", "devDependencies"]) {
    const others = { dependencies: { other: "^0.0.1" } };
    expect(await changed({ ...others, [list]: { ashlar: range } }, version)).toEqual({
      ...others,
      [list]: { ashlar: after },
    });
  }
});

test("a manifest without the package is unchanged, and a manifest that isn't an object can't be changed", async () => {
  for (const manifest of [
    {},
    { dependencies: [] },
    { dependencies: { ashlar: 1 } },
    { dependencies: { a: "^0.0.1" } },
  ]) {
    expect(await changed(manifest, "9.0.0")).toEqual(manifest);
  }
  expect(await changed([], "9.0.0")).toBeNull();
});

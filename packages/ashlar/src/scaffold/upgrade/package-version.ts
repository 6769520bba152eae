import { propertyOf } from "../edits/declarations.ts";
import type { Edit } from "../edits/edits.ts";

const RANGE = /^([\^~]?)(\d+)\.(\d+)\.(\d+)$/;

/**
 * Requires a version of the framework in `package.json`, whose text is read as an expression. A range that includes the version
 * already, and anything but a plain range, such as a path or a tag, stays.
 */
export function requiringVersion(version: string): Edit {
  return (code) => {
    const [statement] = code.program.body;
    const manifest = statement?.type === "ExpressionStatement" ? statement.expression : null;
    if (manifest?.type !== "ObjectExpression") return null;
    for (const list of ["dependencies", "devDependencies"]) {
      const packages = propertyOf(manifest, list)?.value;
      const range = packages?.type === "ObjectExpression" ? propertyOf(packages, "ashlar")?.value : null;
      if (range?.type !== "StringLiteral") continue;
      const [, sign = ""] = RANGE.exec(range.value) ?? [];
      if (!RANGE.test(range.value) || includes(range.value, version)) return code;
      return code.with({ at: range.start! + 1, until: range.end! - 1, text: `${sign}${version}` });
    }
    return code;
  };
}

/** Reports whether a range includes a version: before 1.0.0, `^` allows only later patches, as `~` does. */
function includes(range: string, version: string): boolean {
  const [, sign, ...wanted] = RANGE.exec(range)!;
  const [, , ...given] = RANGE.exec(version)!;
  const [major = 0, minor = 0, patch = 0] = wanted.map(Number);
  const [ownMajor = 0, ownMinor = 0, ownPatch = 0] = given.map(Number);
  if (sign === "") return range === version;
  if (ownMajor !== major) return false;
  const isFree = sign === "^" && major > 0;
  if (!isFree && ownMinor !== minor) return false;
  return ownMinor > minor || (ownMinor === minor && ownPatch >= patch);
}

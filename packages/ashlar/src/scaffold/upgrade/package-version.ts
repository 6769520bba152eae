import satisfies from "semver/functions/satisfies.js";
import valid from "semver/functions/valid.js";
import { propertyOf } from "../edits/declarations.ts";
import type { Edit } from "../edits/edits.ts";

/**
 * Requires a version of the framework in `package.json`, which is parsed as an expression. Keeps a range that already
 * includes the version, and anything but a plain range, such as a path or a tag.
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
      const text = including(range.value, version);
      return text === range.value ? code : code.with({ at: range.start! + 1, until: range.end! - 1, text });
    }
    return code;
  };
}

/**
 * Returns a plain range unchanged if it includes a version by npm's rules, or else a range of the same kind that does.
 * Any other text is unchanged.
 */
function including(range: string, version: string): string {
  const [, sign = "", lowest = ""] = /^([\^~]?)(.*)$/s.exec(range) ?? [];
  if (valid(lowest) === null || satisfies(version, range)) return range;
  return `${sign}${version}`;
}

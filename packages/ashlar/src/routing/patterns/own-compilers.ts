/** Reports whether the whole decoded value matches. */
export type ValueTest = (value: string) => boolean;

/** An application's own compilers by name. A compiler that cannot be used is replaced with a sentence that says why. */
export type OwnCompilers = ReadonlyMap<string, ValueTest | string>;

/** Longer values do not match, to keep the linear time short. */
const MAX_LENGTH = 256;

/**
 * Prepares an application's own compilers. They are matched by RE2, in time that is linear in the length of the value,
 * whatever the expression: JavaScript's own engine takes hours for some expressions on some texts of forty characters.
 *
 * Expressions have the semantics of the flag `u`, with two differences from JavaScript: `\s` matches only ASCII white
 * space, and `.` matches everything but `\n`.
 */
export async function ownCompilers(expressions: Readonly<Record<string, RegExp>>): Promise<OwnCompilers> {
  const entries = Object.entries(expressions);
  if (entries.length === 0) return new Map();
  // Imported late, because it is large, and most applications don't have their own compilers.
  const { RE2JS } = await import("re2js");

  function prepare(expression: unknown): ValueTest | string {
    if (!(expression instanceof RegExp)) return "it is not a regular expression";
    const { source, flags } = expression;
    if (/[gy]/.test(flags)) return "the flags g and y make it remember its last match; leave them out";
    if (flags.includes("v")) return "the flag v is not supported; use u";
    // RE2's translation would treat the k as a letter.
    if (/(?<!\\)(?:\\\\)*\\k</.test(source)) return "it refers back to a group by name (\\k<name>)";
    try {
      // Without u, JavaScript reads `\A` as the letter A, and `[[:alpha:]]` as a class of punctuation. RE2 does not.
      const strict = new RegExp(source, flags.includes("u") ? flags : `${flags}u`);
      const matcher = RE2JS.compile(withShortScripts(RE2JS.translateRegExp(strict)));
      return (value) => value.length <= MAX_LENGTH && matcher.matches(value);
    } catch (error) {
      const detail = (error as Error).message.replace("error parsing regexp: ", "");
      return `RE2 cannot match it (${detail}); assertions such as (?=…) and references such as \\1 are not supported`;
    }
  }
  return new Map(entries.map(([name, expression]) => [name, prepare(expression)]));
}

/** RE2 writes JavaScript's `\p{Script=Greek}` as `\p{Greek}`. */
function withShortScripts(expression: string): string {
  return expression.replace(/(\\p\{)(?:Script|sc)=/gi, "$1");
}

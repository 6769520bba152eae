// What the bundle does to load less of Node.js. Its sources say nothing of it: they import and mention what they use.
import { join } from "node:path";
import type { Plugin } from "rolldown";

const SRVX = /srvx[\\/]dist[\\/]adapters[\\/]node\.mjs$/;
const INHERIT_LATE = join(import.meta.dirname, "../src/node/inherit-late.ts");

/** Makes srvx's classes inherit from those of the platform late; see `inheritLate`. */
export function lateInheritance(): Plugin {
  return {
    name: "late-inheritance",
    transform: {
      filter: { id: SRVX },
      handler: (code) => `import { inheritLate } from ${JSON.stringify(INHERIT_LATE)};\n${withLateInheritance(code)}`,
    },
  };
}

/**
 * srvx's adapter for Node.js with its uses of the platform's classes moved into functions.
 *
 * @throws if it is not written as expected
 */
export function withLateInheritance(code: string): string {
  let found = 0;
  const inherits = code.replaceAll(
    /^\tlazyInherit\((\w+)\.prototype, Native(\w+)\.prototype, "\w+"\);\n(?:\tObject\.setPrototypeOf\(.*\);\n)+/gm,
    (statements: string, late: string, name: string) => {
      found++;
      return `inheritLate("${name}", ${late}, () => {\n${statements}});\n`;
    },
  );
  const uses = inherits.replaceAll(/\bNative(Headers|Request|Response)\b(?! =)/g, "(native$1())");
  const lazy = uses.replaceAll(/^\tconst Native(\w+) = (.+);$/gm, (_, name: string, value: string) => {
    found++;
    return `\tlet Native${name};\n\tconst native${name} = () => (Native${name} ??= ${value});`;
  });
  // Three classes, and patchGlobalRequest, which the bundle leaves out.
  if (found !== 7) throw new Error(`srvx's classes inherit in another way than expected: ${found} of 7 places found.`);
  return lazy;
}

/**
 * Makes modules take what they import of Node.js from the built-in module itself. Its form as an ES module evaluates all of
 * its exports: that of `node:http` loads `fetch`, because of `WebSocket`.
 */
export function builtinsAsTheyAre(): Plugin {
  return { name: "builtins-as-they-are", renderChunk: (code) => withBuiltins(code) };
}

/** A module with its imports from `node:` replaced. */
export function withBuiltins(code: string): string {
  return code.replaceAll(
    /^import (?:([\w$]+)|\* as ([\w$]+))?(?:, )?(\{.*\})?(?: from )?"(node:[\w/]+)";$/gm,
    (_, whole: string | undefined, namespace: string | undefined, names: string | undefined, module: string) => {
      const value = `globalThis.process.getBuiltinModule("${module}")`;
      const bound = [whole ?? namespace, names?.replaceAll(" as ", ": ")].filter((one) => one !== undefined);
      return bound.map((one) => `const ${one} = ${value};`).join(" ");
    },
  );
}

import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

// Makes Node load the modules of generated applications itself, as it does outside of tests. Vitest would transform and
// cache some fifty modules for each application and each copy, though no other test imports them. Their imports from
// `ashlar`, and those of features in `test/features`, lead to the framework that the tests have loaded, so that both
// have the same classes.

const PUBLIC = join(import.meta.dirname, "../../src/public");

/** The scheme of modules that re-export what the tests have loaded. */
const SCHEME = "ashlar-of-tests:";

/** How this process's tests load the framework. */
interface Framework {
  /** Imports one of its public modules. */
  load: (name: string) => Promise<unknown>;
  /** How often it was loaded: after a test that resets modules, later tests load it again. */
  generation: number;
}

const shared = globalThis as { ashlarOfTests?: Framework };
shared.ashlarOfTests ??= registered();
const framework = shared.ashlarOfTests;
framework.load = (name) => import(/* @vite-ignore */ join(PUBLIC, `${name}.ts`));
framework.generation++;

function registered(): Framework {
  registerHooks({
    resolve(specifier, context, next) {
      const [found, name = "index"] = /^ashlar(?:\/([a-z-]+))?$/.exec(specifier) ?? [];
      if (found === undefined || !isApplication(context.parentURL)) return next(specifier, context);
      return { url: `${SCHEME}${name}?${shared.ashlarOfTests!.generation}`, format: "module", shortCircuit: true };
    },
    load(url, context, next) {
      if (!url.startsWith(SCHEME)) return next(url, context);
      return { format: "module", source: passingOn(url.slice(SCHEME.length, url.indexOf("?"))), shortCircuit: true };
    },
  });
  return { load: () => Promise.reject(new Error("not loaded yet")), generation: 0 };
}

/** Reports whether a module belongs to a generated application, or to a feature that Node loads for one. */
function isApplication(url: string | undefined): boolean {
  return url !== undefined && (url.includes("/.generated-") || url.includes("/test/features/"));
}

/** The source of a module with the exports of one of the framework's public ones. */
function passingOn(name: string): string {
  const code = stripTypeScriptTypes(readFileSync(join(PUBLIC, `${name}.ts`), "utf8"));
  const names = [...code.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap(([, list]) => list!.split(","))
    .map((one) => one.trim().replace(/^.* as /, ""))
    .filter((one) => one !== "");
  return `export const { ${names.join(", ")} } = await globalThis.ashlarOfTests.load("${name}");`;
}

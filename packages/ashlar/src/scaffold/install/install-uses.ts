import type { ObjectExpression } from "@babel/types";
import { creatingWith, creationIn, exportingApplication, optionsOf } from "../edits/application-edits.ts";
import { Code } from "../edits/code.ts";
import { propertyOf } from "../edits/declarations.ts";
import { all, importing } from "../edits/edits.ts";
import { binding } from "../edits/kernel-edits.ts";
import type { CodeStep } from "./steps.ts";

/**
 * Returns the steps that make the application use a feature's files: the kernel must load the routes, and `app.ts` the
 * kernel.
 *
 * @param text the text of `app.ts`
 * @param made returns whether a file was missing and is being created, so that the application can't be using it yet,
 * but may use another one instead
 */
export async function usesOf(text: string, made: (file: string) => boolean): Promise<CodeStep[]> {
  const routes: CodeStep = {
    file: "app/kernel.ts",
    edit: binding({ "routes.location": "routes/web" }, made("routes/web.ts")),
    lines: ["// in registerRoutes():", 'this.container.bind("routes.location", "routes/web");'],
  };
  return [routes, ...(await applicationSteps(text, made("app/kernel.ts")))];
}

/**
 * Adds what `app.ts` lacks: the root folder, without which no file is found, the kernel, and the export that commands
 * use.
 */
async function applicationSteps(text: string, makesKernel: boolean): Promise<CodeStep[]> {
  const code = await parsed(text);
  const call = code && creationIn(code);
  // If the application is created in another file, that is up to its author.
  if (code === null || call === null) return [];
  const options = optionsOf(code, call);
  const isOpaque = options === null && call.arguments.length > 0;
  const usesKernel = /^\s*import\b[^;]*["']\.\/app\/kernel(?:\.[jt]s)?["']/m.test(text);
  const hasKernel = hasOption(options, "kernel");
  const lacks: MissingOptions = {
    kernel: !usesKernel && (makesKernel || !(isOpaque || hasKernel)),
    root: !isOpaque && !hasOption(options, "root"),
  };
  return [
    ...(lacks.kernel || lacks.root ? [optionsStep(lacks, hasKernel)] : []),
    ...(hasOption(options, "providers") && !text.includes("config/providers") ? [PROVIDERS_STEP] : []),
    ...(hasDefaultExport(code) ? [] : [exportStep(text)]),
  ];
}

/** Which options of `createApplication` are missing. */
interface MissingOptions {
  readonly kernel: boolean;
  readonly root: boolean;
}

/** @param hasKernel whether there is another kernel, which the author must replace */
function optionsStep(lacks: MissingOptions, hasKernel: boolean): CodeStep {
  const properties = [
    ...(lacks.root ? ["root: import.meta.dirname"] : []),
    ...(lacks.kernel ? ["kernel: Kernel"] : []),
  ];
  const [name, file] = ["Kernel", "./app/kernel.ts"] as const;
  const imports = lacks.kernel ? [importing(name, file)] : [];
  return {
    file: "app.ts",
    edit: lacks.kernel && hasKernel ? () => null : all(...imports, creatingWith(properties)),
    lines: [
      ...(lacks.kernel ? [`import { ${name} } from "${file}";`] : []),
      "// in createApplication({ … }):",
      ...properties.map((property) => `${property},`),
    ],
  };
}

/** The providers may be the author's own, so they are never removed automatically. */
const PROVIDERS_STEP: CodeStep = {
  file: "app.ts",
  edit: () => null,
  lines: ["// remove providers from createApplication({ … }), so that PROVIDERS of config/providers.ts is used"],
};

function exportStep(text: string): CodeStep {
  const [, name] = /\b(?:const|let|var)\s+(\w+)\s*=\s*await\s+createApplication\(/.exec(text) ?? [];
  const listens = /\.listen\(/.test(text);
  return {
    file: "app.ts",
    edit: exportingApplication,
    lines: [
      listens
        ? `// replace ${name ?? "application"}.listen(…), which npx ashlar serve calls, with:`
        : "// at the end, for npx ashlar serve and the other commands:",
      `export default ${name ?? "await createApplication({ … })"};`,
    ],
  };
}

async function parsed(text: string): Promise<Code | null> {
  try {
    return await Code.of(text, "app.ts");
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function hasOption(options: ObjectExpression | null, name: string): boolean {
  return options !== null && propertyOf(options, name) !== null;
}

function hasDefaultExport({ program }: Code): boolean {
  return program.body.some(
    (one) =>
      one.type === "ExportDefaultDeclaration" ||
      (one.type === "ExportNamedDeclaration" &&
        one.specifiers.some((other) => other.exported.type === "Identifier" && other.exported.name === "default")),
  );
}

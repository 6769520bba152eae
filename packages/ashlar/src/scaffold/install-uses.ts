import type { ObjectExpression } from "@babel/types";
import { Code } from "./edits/code.ts";
import { propertyOf } from "./edits/declarations.ts";
import { all, binding, creatingWith, creationIn, exportingApplication, importing, optionsOf } from "./edits/edits.ts";
import type { CodeStep } from "./steps.ts";

/**
 * Returns the steps that put a feature's files to use: the kernel must load the routes, and `app.ts` the kernel.
 *
 * @param text the text of `app.ts`
 * @param made returns whether a file was missing and is created: nothing can use it yet, only something in its place
 */
export async function usesOf(text: string, made: (file: string) => boolean): Promise<CodeStep[]> {
  const routes: CodeStep = {
    file: "app/kernel.ts",
    edit: binding({ "routes.location": "routes/web" }, made("routes/web.ts")),
    lines: ["// in registerRoutes():", 'this.container.bind("routes.location", "routes/web");'],
  };
  return [routes, ...(await applicationSteps(text, made("app/kernel.ts")))];
}

/** What `app.ts` lacks: the root folder, without which no file is found, the kernel, and the export that the commands use. */
async function applicationSteps(text: string, makesKernel: boolean): Promise<CodeStep[]> {
  const code = await parsed(text);
  const call = code && creationIn(code);
  // An application created in another file is up to its author.
  if (code === null || call === null) return [];
  const options = optionsOf(code, call);
  const isOpaque = options === null && call.arguments.length > 0;
  const usesKernel = /^\s*import\b[^;]*["']\.\/app\/kernel(?:\.[jt]s)?["']/m.test(text);
  const lacksKernel = !usesKernel && (makesKernel || !(isOpaque || hasOption(options, "kernel")));
  const lacksRoot = !isOpaque && !hasOption(options, "root");
  const steps: CodeStep[] = [];
  if (lacksKernel || lacksRoot) {
    const properties = [
      ...(lacksRoot ? ["root: import.meta.dirname"] : []),
      ...(lacksKernel ? ["kernel: Kernel"] : []),
    ];
    const from = ["Kernel", "./app/kernel.ts"] as const;
    steps.push({
      file: "app.ts",
      edit:
        lacksKernel && hasOption(options, "kernel")
          ? () => null
          : all(...(lacksKernel ? [importing(...from)] : []), creatingWith(properties)),
      lines: [
        ...(lacksKernel ? [`import { ${from[0]} } from "${from[1]}";`] : []),
        "// in createApplication({ … }):",
        ...properties.map((property) => `${property},`),
      ],
    });
  }
  if (hasOption(options, "providers") && !text.includes("config/providers")) {
    // What the author wrote there may be their own, so it is never removed.
    const lines = [
      "// remove providers from createApplication({ … }), so that PROVIDERS of config/providers.ts is used",
    ];
    steps.push({ file: "app.ts", edit: () => null, lines });
  }
  if (!hasDefaultExport(code)) {
    const [, name] = /\b(?:const|let|var)\s+(\w+)\s*=\s*await\s+createApplication\(/.exec(text) ?? [];
    const listens = /\.listen\(/.test(text);
    steps.push({
      file: "app.ts",
      edit: exportingApplication,
      lines: [
        listens
          ? `// replace ${name ?? "application"}.listen(…), which npx ashlar serve calls, with:`
          : "// at the end, for npx ashlar serve and the other commands:",
        `export default ${name ?? "await createApplication({ … })"};`,
      ],
    });
  }
  return steps;
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

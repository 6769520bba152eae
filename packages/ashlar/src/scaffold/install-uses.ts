import type { Step } from "./remaining-steps.ts";

/** Matches an option, with a value or in shorthand. */
const option = (name: string): RegExp => new RegExp(`\\b${name}\\b\\s*[:,}]`);

/**
 * Returns the steps that put a feature's files to use: the kernel must load the routes, and `app.ts` the kernel.
 *
 * @param code the code of `app.ts`
 * @param made returns whether a file was missing and is created: nothing can use it yet, only something in its place
 */
export function usesOf(code: string, made: (file: string) => boolean): Step[] {
  const routes: Step = {
    file: "app/kernel.ts",
    done: made("routes/web.ts") ? /["']routes\.location["']\s*,\s*["']routes\/web["']/ : /["']routes\.location["']/,
    lines: ["// in registerRoutes():", 'this.container.bind("routes.location", "routes/web");'],
  };
  return [routes, ...applicationSteps(code, made("app/kernel.ts"))];
}

/** What `app.ts` lacks: the root folder, without which no file is found, the kernel, and the export that the commands use. */
function applicationSteps(code: string, makesKernel: boolean): Step[] {
  // An application created in another file is up to its author.
  const makesApplication = /\bcreateApplication\(/.test(code);
  const usesKernel = /["']\.\/app\/kernel(?:\.[jt]s)?["']/.test(code);
  const lacksKernel = makesKernel ? !usesKernel : makesApplication && !usesKernel && !option("kernel").test(code);
  const lacksRoot = makesApplication && !option("root").test(code);
  const steps: Step[] = [];
  const step = (...lines: readonly string[]): void => void steps.push({ file: "app.ts", done: /(?!)/, lines });
  if (lacksKernel || lacksRoot) {
    step(
      ...(lacksKernel ? ['import { Kernel } from "./app/kernel.ts";'] : []),
      "// in createApplication({ … }):",
      ...(lacksRoot ? ["root: import.meta.dirname,"] : []),
      ...(lacksKernel ? ["kernel: Kernel,"] : []),
    );
  }
  if (makesApplication && option("providers").test(code) && !code.includes("config/providers")) {
    step("// remove providers from createApplication({ … }), so that PROVIDERS of config/providers.ts is used");
  }
  if (makesApplication && !/\b(?:export|as)\s+default\b/.test(code)) {
    const [, name] = /\b(?:const|let|var)\s+(\w+)\s*=\s*await\s+createApplication\(/.exec(code) ?? [];
    const listens = /\.listen\(/.test(code);
    step(
      listens
        ? `// replace ${name ?? "application"}.listen(…), which npx ashlar serve calls, with:`
        : "// at the end, for npx ashlar serve and the other commands:",
      `export default ${name ?? "await createApplication({ … })"};`,
    );
  }
  return steps;
}

import type { Step } from "./remaining-steps.ts";

/** The value of an option, however it is given. */
const option = (name: string): RegExp => new RegExp(`\\b${name}\\b\\s*[:,}]`);

/**
 * What has to use the files that a feature needs: the kernel the routes, and `app.ts` the kernel.
 *
 * @param code that of `app.ts`
 * @param made tells whether a file was missing and is made: nothing can use it yet, whatever is used in its place
 */
export function usesOf(code: string, made: (file: string) => boolean): Step[] {
  const routes: Step = {
    file: "app/kernel.ts",
    done: made("routes/web.ts") ? /["']routes\.location["']\s*,\s*["']routes\/web["']/ : /["']routes\.location["']/,
    lines: ["// in registerRoutes():", 'this.container.bind("routes.location", "routes/web");'],
  };
  return [routes, ...applicationSteps(code, made("app/kernel.ts"))];
}

/** What `app.ts` lacks: the folder, without which no file is found, the kernel, and the export that the commands take. */
function applicationSteps(code: string, makesKernel: boolean): Step[] {
  // One that is made elsewhere is made as its author likes.
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
    step("// take providers out of createApplication({ … }): those in PROVIDERS of config/providers.ts are on then");
  }
  if (makesApplication && !/\b(?:export|as)\s+default\b/.test(code)) {
    const [, name] = /\b(?:const|let|var)\s+(\w+)\s*=\s*await\s+createApplication\(/.exec(code) ?? [];
    const listens = /\.listen\(/.test(code);
    step(
      listens
        ? `// in place of ${name ?? "application"}.listen(…), which npx ashlar serve does:`
        : "// at the end, for npx ashlar serve and the other commands:",
      `export default ${name ?? "await createApplication({ … })"};`,
    );
  }
  return steps;
}

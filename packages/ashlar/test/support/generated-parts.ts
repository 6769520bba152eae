/**
 * The parts of a generated file that a page's version of it must keep, because a reader who copies it would lose them.
 *
 * @param path the file, relative to the application
 * @param text its text
 * @returns the parts, such as `env("APP_URL")` and `...Api.routes(`
 */
export function partsOf(path: string, text: string): string[] {
  const code = text.replaceAll(/^\s*\/\/.*$/gm, "");
  const all = (pattern: RegExp): string[] => [...code.matchAll(pattern)].map(([whole, name]) => name ?? whole);
  const found = [...all(/\benv\("\w+"/g), ...all(/\.\.\.\w+\.routes\(/g)];
  if (/Route\.\w+\("\/"[,)]/.test(code)) found.push('a route at "/"');
  if (path === "config/providers.ts") found.push(...all(/^ {2}(\w+),$/gm));
  if (path === "app/kernel.ts") found.push(...all(/^ {4}"?([\w.-]+)"?: \[/gm));
  if (/^config\/(?:app|auth|mail|session)\.ts$/.test(path)) found.push(...all(/^ {2}(\w+):/gm));
  return [...new Set(found)];
}

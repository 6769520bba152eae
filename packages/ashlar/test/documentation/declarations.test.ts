import { cp, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { default as TypeScript } from "typescript-5";
import { expect, test } from "vitest";
import { compile, compileEach, installedApplication } from "../support/installed-application.ts";

const ts = createRequire(import.meta.url)("typescript-5") as typeof TypeScript;

/**
 * Types that are not named directly: maps (`EventMap["auth.login"]`), those written as a literal, and interfaces that are
 * implemented (`LoginStore["start"]`).
 */
const INDEXED =
  /^(?:EventMap|AccountMailMap|TraceMessages|Services|MiddlewareArguments|Feature|\w+Settings|\w+Options|\w+Store|Dialect|Writes|LoginStep|MailTransport)$/;

/**
 * Types without a public name, which a library annotates if it passes them on: the framework's own parts, and results
 * that are used where they are returned.
 */
const UNNAMED = [
  "Accounts_events",
  "Accounts_findDeviceLink",
  "Accounts_findEmailChange",
  "Accounts_findPasswordReset",
  "Accounts_overview",
  "Accounts_readVerification",
  "Accounts_undoEmailChange",
  "ApplicationStats_eventLoop",
  "ApplicationStats_hashing",
  "ApplicationStats_mail",
  "ApplicationStats_redis",
  "ApplicationStats_replicas",
  "ApplicationStats_requests",
  "Application_settings",
  "Auth_logins",
  "Authenticators_sections",
  "Authenticators_table",
  "Authenticators_tableOf",
  "Database_settings",
  "HtmlForm_controls",
  "HttpContext_csrfField",
  "HttpContext_services",
  "HttpContext_twoFactor",
  "HttpContext_visitor",
  "Issuer_settings",
  "Issuer_verify",
  "RequestPasskeys_confirmationOptions",
  "RequestPasskeys_creationOptions",
  "RequestPasskeys_findRegistration",
  "RequestPasskeys_loginOptions",
  "RequestPasskeys_registrationOptions",
  "RequestPasskeys_signals",
  "RotatingKeys_settings",
  "RouteDefinition_attributes",
  "Router_match",
  "Router_routes",
  "TestClient_cookies",
  "TestClient_session",
  "TestResponse_cookie",
  "Throttle_limit",
  "WebGuard_logins",
  "many_",
  "personal_",
  "settings_",
  "single_",
];

/**
 * A module that exports the result of every public function, method and property without annotating it, as `Class_member`
 * or as the function's name.
 */
async function everyResult(root: string): Promise<string> {
  const folder = join(root, "node_modules/ashlar");
  const { exports } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  const paths = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [{ from: `ashlar${path.slice(1)}`, file: join(folder, target.types) }],
  );
  const { NodeNext } = ts.ModuleKind;
  const files = paths.map(({ file }) => file);
  const program = ts.createProgram(files, { module: NodeNext, strict: true, skipLibCheck: true, types: [] });
  const checker = program.getTypeChecker();
  const imports: string[] = [];
  const results: string[] = [];

  function addMember(name: string, member: TypeScript.Symbol, of: string, from: string | null): void {
    const [declaration] = member.declarations ?? [];
    if (declaration === undefined || !declaration.getSourceFile().fileName.includes("/ashlar/dist/")) return;
    if (!/^[a-z]\w*$/i.test(member.name) || member.name === "prototype") return;
    const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
    if ((ts.getCombinedModifierFlags(declaration) & hidden) !== 0) return;
    const type = checker.getTypeOfSymbol(member);
    const isCalled = checker.getNonNullableType(type).getCallSignatures().length > 0;
    const value = `${from ?? "of"}.${member.name}`;
    const given = from === null ? `of: ${of}` : "";
    results.push(`export const ${name}_${member.name} = (${given}) => ${isCalled ? `result(${value}!)` : value};`);
  }

  for (const { from, file } of paths) {
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!)) {
      const { name } = exported;
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const declarations = symbol.declarations ?? [];
      const isOwn = declarations.some((one) => one.getSourceFile().fileName.includes("/ashlar/dist/"));
      if (!isOwn || INDEXED.test(name)) continue;
      imports.push(`import { ${name} } from "${from}";`);
      if ((symbol.flags & ts.SymbolFlags.Function) !== 0) results.push(`export const ${name}_ = result(${name});`);
      if ((symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface)) === 0) continue;
      const parameters = declarations.map((one) =>
        ts.isClassDeclaration(one) || ts.isInterfaceDeclaration(one) ? (one.typeParameters?.length ?? 0) : 0,
      );
      const arity = Math.max(...parameters);
      const type = arity === 0 ? name : `${name}<${Array(arity).fill("any").join(", ")}>`;
      for (const member of checker.getDeclaredTypeOfSymbol(symbol).getProperties()) addMember(name, member, type, null);
      const [specifier] = exported.declarations ?? [];
      const isType = specifier !== undefined && ts.isExportSpecifier(specifier) && specifier.isTypeOnly;
      if ((symbol.flags & ts.SymbolFlags.Class) === 0 || isType) continue;
      for (const member of checker.getTypeOfSymbol(symbol).getProperties()) addMember(name, member, type, name);
    }
  }
  const result = "declare function result<T>(call: (...given: never) => T): T;";
  return [...imports, result, ...results].join("\n");
}

/** The module, which is the same for each compiler. */
let results: Promise<string> | null = null;

test.for(["TypeScript 5.9", "TypeScript 7"] as const)(
  "a library emits declarations for exports without annotations: %s",
  { timeout: 240_000 },
  async (compiler) => {
    const root = await installedApplication();
    await cp(join(import.meta.dirname, "library.ts.stub"), join(root, "library.ts"));
    await cp(join(import.meta.dirname, "../features/invitations"), join(root, "invitations"), { recursive: true });
    results ??= everyResult(root);
    await writeFile(join(root, "every-result.ts"), await results);
    const compilerOptions = {
      lib: ["es2024", "esnext.disposable"],
      verbatimModuleSyntax: false,
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      outDir: "declarations",
    };
    const project = { extends: "./tsconfig.json", compilerOptions, exclude: ["node_modules", "declarations"] };
    const config = "tsconfig.declarations.json";
    await writeFile(join(root, config), JSON.stringify(project));
    const output =
      compiler === "TypeScript 7"
        ? await compile(root, compiler, "-p", config, "--singleThreaded")
        : (compileEach(root, compiler, { "": [] }, config)[""] ?? "");
    const problems = output.trim().split("\n");
    const unnamed = /^every-result\.ts.*The inferred type of '(\w+)' cannot be named/;
    expect(problems.filter((problem) => !unnamed.test(problem))).toEqual([]);
    const names = problems.flatMap((problem) => unnamed.exec(problem)?.[1] ?? []);
    expect([...new Set(names)].sort()).toEqual(UNNAMED);
  },
);

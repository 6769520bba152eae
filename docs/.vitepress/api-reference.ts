// Writes the API reference, docs/reference/api/, out of the doc comments of packages/ashlar/src/public: a page for each
// import path, and one for each class and interface. It also describes the types of arguments and results that are not
// exported. A `{@link}` that leads nowhere in the reference is an error.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  Application,
  Comment,
  CommentTag,
  Context,
  Converter,
  type DeclarationReflection,
  Logger,
  LogLevel,
  type PageDefinition,
  type Reflection,
  ReflectionKind,
} from "typedoc";
import { MemberRouter } from "typedoc-plugin-markdown";
import ts from "typescript";

const packageFolder = join(import.meta.dirname, "../../packages/ashlar");
const sources = `${packageFolder.replaceAll("\\", "/")}/src/`;
const GROUP = "Types that are not exported";

/** What TypeDoc reports, except that a parameter is described for all overloads and only some have it. */
class Problems extends Logger {
  readonly #found: string[] = [];

  override log(message: string, level: LogLevel): void {
    if (level >= LogLevel.Warn && !/has an @param with name/.test(message)) this.#found.push(message);
  }

  throwIfAny(): void {
    if (this.#found.length === 0) return;
    const advice = "If a link leads to a name that is not exported, put the name between backticks.";
    throw new Error(`The API reference can't be built:\n${this.#found.join("\n")}\n${advice}`);
  }
}

/** The import path of a file in `src/public`. */
function importPath(name: string): string {
  return name === "index" ? "ashlar" : `ashlar/${name}`;
}

/** Whether a symbol is an interface or a type of the framework. */
function isOurType(symbol: ts.Symbol): boolean {
  const kinds = ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias;
  // What features add to public interfaces is described there.
  if ((symbol.flags & kinds) === 0 || symbol.name.startsWith("Framework")) return false;
  return (symbol.declarations ?? []).some((one) => one.getSourceFile().fileName.startsWith(sources));
}

/** The module that a reflection is in. */
function moduleOf(reflection: Reflection): DeclarationReflection {
  let at = reflection;
  while (at.parent !== undefined && !at.parent.isProject()) at = at.parent;
  return at as DeclarationReflection;
}

/** Gives a page to each class, and to each exported interface with methods or many properties. Everything else is on its module's page. */
class Pages extends MemberRouter {
  override buildChildPages(reflection: Reflection, pages: PageDefinition[]): void {
    this.membersWithOwnFile = isLikeClass(reflection) ? ["Class", "Interface"] : ["Class"];
    super.buildChildPages(reflection, pages);
  }
}

function isLikeClass(reflection: Reflection): boolean {
  const { children = [], comment } = reflection as DeclarationReflection;
  const isUnexported = comment?.blockTags.some(({ content }) => content[0]?.text === GROUP) ?? false;
  const isLong = children.length > 40 || children.some((child) => child.kindOf(ReflectionKind.Method));
  return isLong && !isUnexported;
}

/** Adds the types that a module's exports refer to, and that no module exports, to the first module that does. */
function describeUnexportedTypes(app: Application): void {
  const referred = new Map<DeclarationReflection, Set<ts.Symbol>>();
  const programs = new Map<DeclarationReflection, ts.Program>();
  const create = Context.prototype.createSymbolReference;
  Context.prototype.createSymbolReference = function (symbol, context, name) {
    if (!context.scope.isProject()) {
      const module = moduleOf(context.scope);
      referred.set(module, (referred.get(module) ?? new Set()).add(symbol));
    }
    return create.call(this, symbol, context, name);
  };
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (context: Context, reflection) => {
    if (reflection.kindOf(ReflectionKind.Module)) programs.set(reflection, context.program);
  });
  app.converter.on(
    Converter.EVENT_RESOLVE_BEGIN,
    (context: Context) => {
      for (const module of context.project.children ?? []) {
        context.setActiveProgram(programs.get(module));
        const within = context.withScope(module);
        // Only what exports refer to themselves: what these types refer to in turn is seldom what a reader wants to know.
        for (const symbol of [...(referred.get(module) ?? [])].filter(isOurType)) {
          if (context.getReflectionFromSymbol(symbol) !== undefined) continue;
          context.converter.convertSymbol(within, symbol);
          const made = context.getReflectionFromSymbol(symbol);
          if (made === undefined) continue;
          made.comment ??= new Comment();
          made.comment.blockTags.push(new CommentTag("@group", [{ kind: "text", text: GROUP }]));
        }
        context.setActiveProgram(undefined);
      }
    },
    1_000_000,
  );
}

/**
 * Writes the reference.
 *
 * @param out the folder, which is replaced
 */
export async function writeApiReference(out: string): Promise<void> {
  await rm(out, { recursive: true, force: true });
  const app = await Application.bootstrapWithPlugins({
    entryPoints: [join(packageFolder, "src/public/*.ts")],
    tsconfig: join(packageFolder, "tsconfig.build.json"),
    plugin: ["typedoc-plugin-markdown"],
    name: "API reference",
    out,
    readme: "none",
    // `npm run types` checks the types, with the compiler that the framework is written for.
    skipErrorChecking: true,
    disableSources: true,
    excludeExternals: true,
    excludePrivate: true,
    excludeInternal: true,
    groupOrder: ["Functions", "Classes", "Variables", "Interfaces", "Type Aliases", "*", GROUP],
    logLevel: "Warn",
    validation: {
      notExported: false,
      invalidLink: true,
      rewrittenLink: false,
      notDocumented: false,
      unusedMergeModuleWith: false,
    },
    ...({
      router: "pages",
      entryFileName: "index",
      excludeScopesInPaths: true,
      pageTitleTemplates: { module: "{name}", member: "{name}" },
      hidePageHeader: true,
      hideBreadcrumbs: true,
      indexFormat: "table",
      parametersFormat: "table",
      typeDeclarationFormat: "table",
      interfacePropertiesFormat: "table",
      useCodeBlocks: true,
    } as object),
  });
  const logger = new Problems();
  app.logger = logger;
  app.renderer.defineRouter("pages", Pages);
  describeUnexportedTypes(app);
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc converted nothing.");
  app.validate(project);
  logger.throwIfAny();
  for (const module of project.children ?? []) module.name = importPath(module.name);
  await app.generateOutputs(project);
  logger.throwIfAny();
}

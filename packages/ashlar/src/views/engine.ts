import { Edge, EdgeError, edgeGlobals, Template } from "edge.js";
import { EdgeBuffer } from "edge-parser";
import { jsonOf } from "../support/index.ts";
import { commonState, TemplateParser } from "./template-scope.ts";

type Compiler = ConstructorParameters<typeof Template>[0];
type Compiled = ReturnType<Compiler["compile"]>;
type MakeFunction = new (...parametersAndBody: string[]) => (...args: readonly unknown[]) => Promise<string>;

const AsyncFunction = (async () => {}).constructor as MakeFunction;

/** A compiled template's parameters, followed by the variables in scope where the template is included. */
const PARAMETERS = ["template", "state", "$context"];

/** A template that creates states. */
interface Stateful {
  stateFor(given: object): object;
}

/**
 * Compiles templates to functions, with names scoped as {@link TemplateParser} describes, and caches them by the
 * requested name. Edge's own cache resolves the path at each rendering, and doesn't cover includes.
 */
export class TemplateCompiler {
  /** Templates may await promises. */
  readonly async = true;
  readonly compat = false;
  readonly #edge: Edge;
  readonly #cache: boolean;
  readonly #compiled = new Map<string, Compiled>();
  /** The components that can be used as tags: their template names, by tag. */
  #components: Map<string, string> | null = null;

  constructor(edge: Edge, cache: boolean) {
    this.#edge = edge;
    this.#cache = cache;
  }

  /** Clears the cache, so that templates are compiled again, and components are looked up again. */
  forget(): void {
    this.#compiled.clear();
    this.#components = null;
  }

  /** Call it before each rendering. Without a cache, it looks up the components again. */
  begin(): void {
    if (!this.#cache) this.#components = null;
  }

  /** @param variables the variables in scope where a partial is included */
  compile(name: string, variables: readonly string[] = []): Compiled {
    // A partial is compiled for the variables that are in scope where it is included.
    const key = variables.length === 0 ? name : [name, ...variables].join("\0");
    let compiled = this.#compiled.get(key);
    if (compiled === undefined) {
      compiled = this.#compile(name, variables);
      if (this.#cache) this.#compiled.set(key, compiled);
    }
    return compiled;
  }

  #compile(name: string, variables: readonly string[]): Compiled {
    const { loader, tags } = this.#edge;
    this.#components ??= this.#findComponents();
    const components = this.#components;
    const path = loader.makePath(name);
    const parser = new TemplateParser(tags, {
      async: true,
      statePropertyName: "state",
      escapeCallPath: ["template", "escape"],
      claimTag: (tag) => (components.has(tag) ? { seekable: true, block: true } : null),
      onTag: ({ properties }) => {
        const component = components.get(properties.name);
        if (component === undefined) return;
        properties.name = "component";
        properties.jsArg = properties.jsArg.trim() === "" ? `'${component}'` : `'${component}',${properties.jsArg}`;
      },
    });
    for (const variable of variables) parser.stack.defineVariable(variable);
    const buffer = new EdgeBuffer(path, { outputVar: "$out", rethrowCallPath: ["template", "reThrow"] });
    for (const token of parser.tokenize(loader.resolve(path).template, { filename: path })) {
      parser.processToken(token, buffer);
    }
    const run = new AsyncFunction(...PARAMETERS, ...variables, buffer.flush());
    const compiled = (template: Stateful, state: object, ...others: readonly unknown[]) =>
      run(template, template.stateFor(state), ...others);
    return compiled as unknown as Compiled;
  }

  #findComponents(): Map<string, string> {
    const found = this.#edge.loader.listComponents().flatMap(({ components }) => components);
    return new Map(found.map(({ tagName, componentName }) => [tagName, componentName]));
  }
}

/** A failure inside a template, with its location in the source. */
class TemplateFailure extends Error {
  readonly file: string;
  readonly line: number;

  constructor(message: string, file: string, line: number, cause: unknown) {
    super(message, { cause });
    this.file = file;
    this.line = line;
  }
}

/** Creates the object that a template's or component's code reads names from, given its own values. */
type MakeState = (own: object) => object;

/** Edge's template, changed to use our states, and to keep the original error as the cause of a failure. */
class StatefulTemplate extends Template {
  readonly #makeState: MakeState;

  constructor(compiler: Compiler, makeState: MakeState, processor: Processor) {
    // Edge would copy all shared values into a new object twice per rendering.
    super(compiler, {}, {}, processor);
    this.#makeState = makeState;
  }

  /**
   * The state of a template, which replaces Edge's plain object. A partial shares the state of the template that
   * includes it.
   */
  stateFor(given: object): object {
    return Object.getPrototypeOf(given) === Object.prototype ? this.#makeState(given) : given;
  }

  /** Prints a value. Never fails, because a column may contain an object that can't be converted to text. */
  override escape(value: unknown): string {
    try {
      return super.escape(value);
    } catch {
      return super.escape(jsonOf(value));
    }
  }

  override reThrow(error: unknown, file: string, line: number): never {
    // A partial's error passes through the templates that include it. The innermost location is the right one.
    if (error instanceof TemplateFailure || error instanceof EdgeError) throw error;
    const message = error instanceof Error ? error.message.replace(/\bstate\./, "") : String(error);
    throw new TemplateFailure(message, file, line, error);
  }
}

/** A class whose instances are printed as markup. */
export interface MarkupClass {
  readonly prototype: { readonly value: string };
}

/** The template engine, as the views use it. */
export interface Engine {
  mount(name: string, directory: string): void;
  /** Makes templates print instances of a class as the markup in their property `value`. */
  printUnescaped(markup: MarkupClass): void;
  /** The values available in every template: the engine's helpers, and parts of JavaScript. */
  readonly globals: Readonly<Record<string, unknown>>;
  /**
   * Renders a template.
   *
   * @param data values for the template and its partials
   * @param makeState called with the data, and with the properties of each component
   */
  render(template: string, data: object, makeState: MakeState): Promise<string>;
  /** The location of an error in a template, if known, and the original error. */
  trace(error: unknown): Trace;
}

interface Trace {
  readonly place: string | null;
  readonly cause: unknown;
}

type Processor = Edge["processor"];

/** See {@link Engine.trace}. */
function trace(error: unknown): Trace {
  if (error instanceof TemplateFailure) return { place: `${error.file}:${error.line}`, cause: error.cause };
  return { place: error instanceof EdgeError ? `${error.filename}:${error.line}` : null, cause: error };
}

/**
 * Creates the template engine.
 *
 * @param cache whether templates are compiled only once, rather than each time they are rendered
 */
export function createEngine(cache: boolean): Engine {
  const edge = Edge.create({ cache });
  const compiler = new TemplateCompiler(edge, cache);
  return {
    mount: (name, directory) => {
      edge.mount(name, directory);
      compiler.forget();
    },
    printUnescaped: ({ prototype }) => {
      // Edge recognizes unescaped output by a class that it doesn't export, so its prototype is taken from an instance.
      Object.setPrototypeOf(prototype, Object.getPrototypeOf(edgeGlobals.html.safe("")) as object);
    },
    globals: commonState(edge.globals),
    render: (template, data, makeState) => {
      compiler.begin();
      // Edge's renderer isn't used, because it deeply merges shared values, which would give templates copies of
      // objects.
      return new StatefulTemplate(compiler as unknown as Compiler, makeState, edge.processor).render(template, data);
    },
    trace,
  };
}

import { Edge, EdgeError, Template } from "edge.js";

/** A failure inside a template, at the place where it was written. */
class TemplateFailure extends Error {
  readonly file: string;
  readonly line: number;

  constructor(message: string, file: string, line: number, cause: unknown) {
    super(message, { cause });
    this.file = file;
    this.line = line;
  }
}

/** Makes what the code of a template or a component reads its names from, out of what is its own. */
type MakeState = (own: object) => object;

/** Edge's template, but its states are ours, and what was thrown inside it stays reachable as the failure's cause. */
class StatefulTemplate extends Template {
  readonly #makeState: MakeState;

  constructor(compiler: Compiler, makeState: MakeState, processor: Processor) {
    // Edge would copy everything shared into a new object, twice for each rendering.
    super(compiler, {}, {}, processor);
    this.#makeState = makeState;
  }

  /** The state of a template: Edge's own, a plain object, is replaced; a partial has that of the template that includes it. */
  stateFor(given: object): object {
    return Object.getPrototypeOf(given) === Object.prototype ? this.#makeState(given) : given;
  }

  override reThrow(error: unknown, file: string, line: number): never {
    // A partial's failure passes through those that include it: the innermost place is the right one.
    if (error instanceof TemplateFailure || error instanceof EdgeError) throw error;
    const message = error instanceof Error ? error.message.replace(/\bstate\./, "") : String(error);
    throw new TemplateFailure(message, file, line, error);
  }
}

/** The template engine, as the views need it. */
export interface Engine {
  mount(name: string, directory: string): void;
  /** What every template knows: helpers of the engine itself. */
  readonly globals: Readonly<Record<string, unknown>>;
  /**
   * Renders a template.
   *
   * @param data values for the template and its partials
   * @param makeState called with the data, and with the properties of each component
   */
  render(template: string, data: object, makeState: MakeState): Promise<string>;
  /** Where in a template an error arose, as far as it says, and the error that was thrown there first. */
  trace(error: unknown): Trace;
}

interface Trace {
  readonly place: string | null;
  readonly cause: unknown;
}

type Compiler = Edge["asyncCompiler"];
type Processor = Edge["processor"];
type Compiled = ReturnType<Compiler["compile"]>;

/**
 * Has a compiler remember what it compiled by the name it was asked for. Edge's own cache works the path out for each
 * rendering, and leaves out what is included: that would be read and compiled anew whenever it is rendered.
 *
 * @returns what makes it forget
 */
function remember(compiler: Compiler): () => void {
  const compile = compiler.compile.bind(compiler);
  const compiled = new Map<string, Compiled>();
  compiler.compile = (name, variables = []) => {
    // A partial is compiled for the variables that are in scope where it is included.
    const key = variables.length === 0 ? name : [name, ...variables].join("\0");
    let template = compiled.get(key);
    if (template === undefined) {
      template = compile(name, variables.length === 0 ? undefined : variables);
      compiled.set(key, template);
    }
    return template;
  };
  return () => compiled.clear();
}

/** Has each template that a compiler compiles read its names from a state of ours. */
function useStates(compiler: Compiler): void {
  const compile = compiler.compile.bind(compiler);
  compiler.compile = (name, variables) => {
    const compiled = compile(name, variables);
    const stateful = (template: StatefulTemplate, state: object, ...others: readonly unknown[]) =>
      (compiled as (...args: readonly unknown[]) => unknown)(template, template.stateFor(state), ...others);
    return stateful as Compiled;
  };
}

/** See {@link Engine.trace}. */
function trace(error: unknown): Trace {
  if (error instanceof TemplateFailure) return { place: `${error.file}:${error.line}`, cause: error.cause };
  return { place: error instanceof EdgeError ? `${error.filename}:${error.line}` : null, cause: error };
}

/**
 * Makes the template engine.
 *
 * @param cache whether a template is compiled once, or whenever it is rendered
 */
export function createEngine(cache: boolean): Engine {
  const edge = Edge.create({ cache });
  useStates(edge.asyncCompiler);
  const forget = cache ? remember(edge.asyncCompiler) : () => {};
  return {
    mount: (name, directory) => {
      edge.mount(name, directory);
      forget();
    },
    globals: edge.globals,
    render: (template, data, makeState) => {
      // Looks for components, which are tags of their own. The renderer itself is not used: it merges deeply what is
      // shared, and so hands templates copies of the objects they were given.
      edge.createRenderer();
      return new StatefulTemplate(edge.asyncCompiler, makeState, edge.processor).render(template, data);
    },
    trace,
  };
}

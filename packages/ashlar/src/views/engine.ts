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

/** Edge's template, but it copies no shared values, and what was thrown inside it stays reachable as the failure's cause. */
class SharingTemplate extends Template {
  /** What every template and component of this rendering knows: the prototype of their states. */
  readonly values: object;

  constructor(compiler: Compiler, values: object, processor: Processor) {
    // Edge would copy everything shared into a new object, twice for each rendering.
    super(compiler, {}, {}, processor);
    this.values = values;
  }

  override getComponentState(...props: Parameters<Template["getComponentState"]>): ComponentState {
    return Object.setPrototypeOf(super.getComponentState(...props), this.values);
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
   * @param values what its components know as well; read through it, never copied
   */
  render(template: string, data: object, values: object): Promise<string>;
}

type Compiler = Edge["asyncCompiler"];
type Processor = Edge["processor"];
type ComponentState = ReturnType<Template["getComponentState"]>;
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

/** Has each template that a compiler compiles see the shared values of its rendering behind the state it is given. */
function share(compiler: Compiler): void {
  const compile = compiler.compile.bind(compiler);
  compiler.compile = (name, variables) => {
    const compiled = compile(name, variables);
    const sharing = (template: SharingTemplate, state: object, ...others: readonly unknown[]) => {
      // A partial is given the state of the template that includes it.
      if (Object.getPrototypeOf(state) === Object.prototype) Object.setPrototypeOf(state, template.values);
      return (compiled as (...args: readonly unknown[]) => unknown)(template, state, ...others);
    };
    return sharing as Compiled;
  };
}

/**
 * Makes the template engine.
 *
 * @param cache whether a template is compiled once, or whenever it is rendered
 */
export function createEngine(cache: boolean): Engine {
  const edge = Edge.create({ cache });
  share(edge.asyncCompiler);
  const forget = cache ? remember(edge.asyncCompiler) : () => {};
  return {
    mount: (name, directory) => {
      edge.mount(name, directory);
      forget();
    },
    globals: edge.globals,
    render: async (template, data, values) => {
      // Looks for components, which are tags of their own. The renderer itself is not used: it merges deeply what is
      // shared, and so hands templates copies of the objects they were given.
      edge.createRenderer();
      return new SharingTemplate(edge.asyncCompiler, values, edge.processor).render(template, data);
    },
  };
}

/**
 * Where in a template an error arose, as far as it says, and the error that was thrown there first.
 *
 * @public loaded along with the engine, when the first template is rendered
 */
export function trace(error: unknown): { readonly place: string | null; readonly cause: unknown } {
  if (error instanceof TemplateFailure) return { place: `${error.file}:${error.line}`, cause: error.cause };
  return { place: error instanceof EdgeError ? `${error.filename}:${error.line}` : null, cause: error };
}

import type { Edge, Template } from "edge.js";
import { EdgeBuffer } from "edge-parser";
import { TemplateParser } from "./template-scope.ts";

type Compiler = ConstructorParameters<typeof Template>[0];
type Compiled = ReturnType<Compiler["compile"]>;
type MakeFunction = new (...parametersAndBody: string[]) => (...args: readonly unknown[]) => Promise<string>;

const AsyncFunction = (async () => {}).constructor as MakeFunction;

/** The parameters of a compiled template, before those for the variables that are in scope where it is included. */
const PARAMETERS = ["template", "state", "$context"];

/** A template with states. */
interface Stateful {
  stateFor(given: object): object;
}

/**
 * Compiles templates to functions, with names that are scoped as {@link TemplateParser} says, and caches them by the requested
 * name. Edge's own cache computes the path for each rendering, and does not cover includes.
 */
export class TemplateCompiler {
  /** Templates may wait for promises. */
  readonly async = true;
  readonly compat = false;
  readonly #edge: Edge;
  readonly #cache: boolean;
  readonly #compiled = new Map<string, Compiled>();
  /** The components that can be used as tags: their names as templates, by tag. */
  #components: Map<string, string> | null = null;

  constructor(edge: Edge, cache: boolean) {
    this.#edge = edge;
    this.#cache = cache;
  }

  /** Compiles everything again, and looks for components again. */
  forget(): void {
    this.#compiled.clear();
    this.#components = null;
  }

  /** Called before each rendering: without a cache, it looks for components again. */
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

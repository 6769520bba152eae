import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { HttpContext } from "../http/index.ts";
import { AshlarError, declareErrors, dictionary, suggestion } from "../support/index.ts";
import type { Engine } from "./engine.ts";

declare module "../support/errors.ts" {
  interface FrameworkErrors {
    E_VIEW: 500;
  }
}

declareErrors({
  E_VIEW: [500, "The view could not be rendered."],
});

/** How {@link Views} work. */
export interface ViewsOptions {
  /** The absolute path of the application's templates. */
  readonly directory: string;
  /** Whether a template is compiled once, or read anew whenever it is rendered. */
  readonly cache: boolean;
}

/** The engine's name for the templates that are named without a mount. */
const OWN = "default";
const EXTENSION = ".edge";
const MOUNT = /^[\w-]+$/;
/** A mount, then a path under it: nothing absolute, and no segment that leads upward. */
const TEMPLATE = /^(?:([\w-]+)::)?([\w-][\w.-]*(?:\/[\w-][\w.-]*)*)$/;

const VALUES = Symbol("values");

/** What the templates of one request know besides what all know. */
export class RequestValues {
  readonly context: HttpContext;
  /** What was shared for this request, by name. */
  readonly shared: Record<string, unknown> = dictionary();
  readonly #made = new Map<string, unknown>();

  /** @param context the request's */
  constructor(context: HttpContext) {
    this.context = context;
  }

  /** Gives a value of the request, which is made when it is first asked for. */
  get(name: string, make: (context: HttpContext) => unknown): unknown {
    const made = this.#made.get(name);
    if (made !== undefined || this.#made.has(name)) return made;
    const value = make(this.context);
    this.#made.set(name, value);
    return value;
  }
}

/** What the code of a template reads its names from, when it is rendered for a request. */
interface RequestState {
  readonly [VALUES]: RequestValues;
}

interface StateClasses {
  /** For what is rendered outside of any request. */
  readonly State: new () => object;
  readonly RequestState: new (values: RequestValues) => RequestState;
}

/**
 * Classes of states for one application: what all its templates know stands on their prototypes, and is never copied. A
 * prototype of each request's own would cost more than copies: the engine (V8) keeps a hidden class for each object that was
 * one, and with it the whole request until the next full garbage collection.
 */
function stateClasses(shared: object): StateClasses {
  class State {}
  Object.setPrototypeOf(State.prototype, shared);
  class RequestState extends State {
    readonly [VALUES]: RequestValues;

    constructor(values: RequestValues) {
      super();
      this[VALUES] = values;
    }
  }
  for (const { prototype } of [State, RequestState]) Reflect.deleteProperty(prototype, "constructor");
  return { State, RequestState };
}

/** Has the states of requests know a name. What a template assigns to it, or is given as data, goes before. */
function defineName(prototype: object, name: string, read: (values: RequestValues) => unknown): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: RequestState): unknown {
      return read(this[VALUES]);
    },
    set(this: RequestState, value: unknown) {
      Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true });
    },
  });
}

/**
 * Renders templates (Edge): `users/show` is the application's `views/users/show.edge`, `mail::welcome` is `welcome.edge` in
 * the directory that is mounted as `mail`.
 *
 * Security: `{{ }}` escapes what it prints. `{{{ }}}` and `html.safe` do not: they are for markup that no user wrote.
 * Templates are programs: neither their names nor their text may come from a request.
 */
export class Views {
  readonly #cache: boolean;
  readonly #mounts = new Map<string, string>();
  readonly #shared: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  readonly #classes = stateClasses(this.#shared);
  /** The names that were rendered; as many as there are templates. */
  readonly #rendered = new Set<string>();
  #loading: Promise<Engine> | null = null;
  #engine: Engine | null = null;

  constructor(options: ViewsOptions) {
    this.#cache = options.cache;
    this.#mounts.set(OWN, options.directory);
    // Of when it is asked for: a handler may have logged someone in or out since the request began.
    defineName(this.#classes.RequestState.prototype, "user", ({ context }) => context.currentUser);
    this.shareByRequest("route", ({ services }) => services.urls.to.bind(services.urls));
  }

  /**
   * Makes the templates of a directory known under a name: `render("mail::welcome")`.
   *
   * @param name letters, digits, `_` and `-`; one that is mounted already is replaced
   * @param directory the absolute path
   * @throws `E_INVALID_CONFIGURATION` where the name holds anything else, or is `default`
   */
  mount(name: string, directory: string): void {
    if (!MOUNT.test(name) || name === OWN) {
      throw new AshlarError("E_INVALID_CONFIGURATION", `Views cannot be mounted as "${name}".`);
    }
    this.#mounts.set(name, directory);
    this.#engine?.mount(name, directory);
  }

  /** Makes a value known to all templates, and to the components they use. Nothing of a request belongs here. */
  share(name: string, value: unknown): void {
    this.#shared[name] = value;
  }

  /**
   * Makes a value of each request known to all templates that are rendered for it, and to their components.
   *
   * @param make called when a template first asks for the value, once for each request
   */
  shareByRequest(name: string, make: (context: HttpContext) => unknown): void {
    defineName(this.#classes.RequestState.prototype, name, (values) => values.get(name, make));
  }

  /**
   * Renders a template.
   *
   * @param template its name, without extension
   * @param data values for the template and its partials, by name; they go before shared ones
   * @param local values for this rendering that reach components too, or those of a request; they go before those of
   * {@link share}
   * @throws `E_VIEW` where there is no such template, or where it fails: with its name, file and line
   */
  async render(template: string, data: object = {}, local: object | RequestValues = {}): Promise<string> {
    // What was rendered before has a name that holds; what a name means is only asked again to explain a failure.
    if (!this.#rendered.has(template)) this.#fileOf(template);
    this.#loading ??= this.#load();
    const engine = this.#engine ?? (await this.#loading);
    try {
      const html = await engine.render(template, data, this.#statesOf(local));
      this.#rendered.add(template);
      return html;
    } catch (error) {
      const file = this.#fileOf(template);
      if (!existsSync(file)) throw this.#missing(template, file);
      const { place, cause } = engine.trace(error);
      const message = error instanceof Error ? error.message : String(error);
      throw new AshlarError("E_VIEW", `The view "${template}" failed at ${place ?? file}: ${message}`, { cause });
    }
  }

  /** What makes the states of one rendering: that of the template, and one for each component in it. */
  #statesOf(local: object | RequestValues): (own: object) => object {
    const { State, RequestState } = this.#classes;
    if (!(local instanceof RequestValues)) return (own) => Object.assign(new State(), local, own);
    return (own) => Object.assign(new RequestState(local), local.shared, own);
  }

  /** An application that renders nothing does not wait for the engine when it starts. */
  async #load(): Promise<Engine> {
    const { createEngine } = await import("./engine.ts");
    const engine = createEngine(this.#cache);
    Object.setPrototypeOf(this.#shared, Object.assign(Object.create(null) as object, engine.globals));
    for (const [name, directory] of this.#mounts) engine.mount(name, directory);
    this.#engine = engine;
    return engine;
  }

  #fileOf(template: string): string {
    const [, mount = OWN, path] = TEMPLATE.exec(template) ?? [];
    if (path === undefined) {
      throw new AshlarError("E_VIEW", `"${template}" cannot be the name of a view. One looks like "users/show".`);
    }
    const directory = this.#mounts.get(mount);
    if (directory === undefined) {
      const known = [...this.#mounts.keys()].filter((name) => name !== OWN);
      throw new AshlarError("E_VIEW", `No views are mounted as "${mount}". ${suggestion(mount, known)}`.trimEnd());
    }
    return join(directory, path.endsWith(EXTENSION) ? path : path + EXTENSION);
  }

  /**
   * Makes sure that there is a template.
   *
   * @throws `E_VIEW` with the path of the file that is missing, and the near names
   */
  requireTemplate(template: string): void {
    const file = this.#fileOf(template);
    if (!existsSync(file)) throw this.#missing(template, file);
  }

  /** Tells whether there is a template. */
  hasTemplate(template: string): boolean {
    return existsSync(this.#fileOf(template));
  }

  #missing(template: string, file: string): AshlarError {
    const near = suggestion(template, this.#templates());
    return new AshlarError("E_VIEW", `There is no view "${template}": ${file} does not exist. ${near}`.trimEnd());
  }

  #templates(): string[] {
    return [...this.#mounts].flatMap(([mount, directory]) => {
      if (!existsSync(directory)) return [];
      const prefix = mount === OWN ? "" : `${mount}::`;
      return readdirSync(directory, { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(EXTENSION))
        .map((path) => prefix + path.slice(0, -EXTENSION.length).replaceAll("\\", "/"));
    });
  }
}

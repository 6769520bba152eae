import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Application } from "../boot/index.ts";
import { type HttpContext, noticeUnknownUser, shownUser } from "../http/index.ts";
import { AshlarError, declareErrors, dictionary, type StatusesOf, suggestion } from "../support/index.ts";
import type { Engine, MarkupClass } from "./engine.ts";

const CODES = {
  E_VIEW: [500, "The view could not be rendered."],
} as const;

declare module "../support/errors.ts" {
  interface FrameworkErrors extends StatusesOf<typeof CODES> {}
}

declareErrors(CODES);

/** Options of {@link Views}. */
export interface ViewsOptions {
  /** The absolute path of the application's templates. */
  readonly directory: string;
  /** Whether a template is compiled once, or read each time it is rendered. */
  readonly cache: boolean;
}

/** The engine's name for the mount of templates without one. */
const OWN = "default";
const EXTENSION = ".edge";
const MOUNT = /^[\w-]+$/;
/** An optional mount, then a relative path without segments that lead upward. */
const TEMPLATE = /^(?:([\w-]+)::)?([\w-][\w.-]*(?:\/[\w-][\w.-]*)*)$/;

const VALUES = Symbol("values");

/** The values available in one request's templates, in addition to the global ones. */
export class RequestValues {
  readonly context: HttpContext;
  #shared: Record<string, unknown> | null = null;
  readonly #made = new Map<string, unknown>();

  /** @param context the request's context */
  constructor(context: HttpContext) {
    this.context = context;
  }

  /** The values shared for this request, by name; `null` if nothing has been shared. */
  get shared(): Readonly<Record<string, unknown>> | null {
    return this.#shared;
  }

  /** Shares values for this request. */
  share(values: Readonly<Record<string, unknown>>): void {
    this.#shared = Object.assign(this.#shared ?? dictionary<unknown>(), values);
  }

  /** Returns a value of this request, and creates it on first use. */
  get(name: string, make: (context: HttpContext) => unknown): unknown {
    const made = this.#made.get(name);
    if (made !== undefined || this.#made.has(name)) return made;
    const value = make(this.context);
    this.#made.set(name, value);
    return value;
  }
}

/** The object from which a template's code reads names, if it is rendered for a request. */
interface RequestState {
  readonly [VALUES]: RequestValues;
}

interface StateClasses {
  /** The states of templates that are rendered outside of a request. */
  readonly State: new () => object;
  readonly RequestState: new (values: RequestValues) => RequestState;
}

/**
 * Creates one application's classes for states. Shared values are on their prototypes, and are never copied. A separate
 * prototype for each request would cost more than copying, because V8 keeps a hidden class for each object that was a
 * prototype, and with it the complete request, until the next full garbage collection.
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

/**
 * Adds a name to the states of requests. A template's own assignment or data with the same name takes precedence.
 */
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
 * Security: `{{ }}` escapes its output. `{{{ }}}` and `html.safe` don't, so use them only for markup that wasn't
 * written by users. Templates are code, so neither their names nor their text may come from a request.
 */
export class Views {
  readonly #cache: boolean;
  readonly #mounts = new Map<string, string>();
  readonly #markup: MarkupClass[] = [];
  readonly #shared: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  readonly #classes = stateClasses(this.#shared);
  /** The names that have been rendered. There can't be more of them than templates. */
  readonly #rendered = new Set<string>();
  #loading: Promise<Engine> | null = null;
  #engine: Engine | null = null;

  constructor(options: ViewsOptions) {
    this.#cache = options.cache;
    this.#mounts.set(OWN, options.directory);
    // Read when it is used, because a handler may have logged a user in or out since the request began.
    defineName(this.#classes.RequestState.prototype, "user", ({ context }) => shownUser(context));
    this.shareByRequest("isUserUnknown", noticeUnknownUser);
    this.shareByRequest("language");
    this.shareByRequest("direction", ({ language, services }) => services.messages.directions.get(language));
    this.shareByRequest("t");
    this.shareByRequest("url", ({ services }) => services.urls.url.bind(services.urls));
    this.shareByRequest("route", ({ services }) => services.urls.to.bind(services.urls));
  }

  /**
   * Makes the templates of a directory available under a name: `render("mail::welcome")`.
   *
   * @param name letters, digits, `_` and `-`; replaces a mount with the same name
   * @param directory the absolute path
   * @throws `E_INVALID_CONFIGURATION` if the name contains anything else, or is `default`
   */
  mount(name: string, directory: string): void {
    if (!MOUNT.test(name) || name === OWN) {
      throw new AshlarError("E_INVALID_CONFIGURATION", `Views cannot be mounted as "${name}".`);
    }
    this.#mounts.set(name, directory);
    this.#engine?.mount(name, directory);
  }

  /**
   * Makes templates print instances of a class as the markup in their property `value`, which is not escaped.
   *
   * @internal
   */
  printUnescaped(markup: MarkupClass): void {
    this.#markup.push(markup);
    this.#engine?.printUnescaped(markup);
  }

  /** Shares a value with all templates and their components. It must not belong to a request. */
  share(name: string, value: unknown): void {
    this.#shared[name] = value;
  }

  /**
   * Shares a value of each request with all templates that are rendered for it, and with their components.
   *
   * @param make called when a template first uses the value, once per request; default: reads the context's property of
   * this name
   */
  shareByRequest(
    name: string,
    make: (context: HttpContext) => unknown = (context) => Reflect.get(context, name),
  ): void {
    defineName(this.#classes.RequestState.prototype, name, (values) => values.get(name, make));
  }

  /**
   * Renders a template.
   *
   * @param template the template's name, without extension
   * @param data values for the template and its partials, by name; they take precedence over shared ones
   * @param local values for this rendering, or for a request, that reach components too; they take precedence over
   * those of {@link share}
   * @throws `E_VIEW`, with name, file and line, if the template doesn't exist or fails
   */
  async render(template: string, data: object = {}, local: object | RequestValues = {}): Promise<string> {
    // A name that was rendered before is valid; it is checked again only to explain a failure.
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

  /** Creates the states of one rendering: one for the template, and one for each component in it. */
  #statesOf(local: object | RequestValues): (own: object) => object {
    const { State, RequestState } = this.#classes;
    if (!(local instanceof RequestValues)) return (own) => Object.assign(new State(), local, own);
    return (own) => Object.assign(new RequestState(local), local.shared, own);
  }

  /** Loads the engine on first use, so that an application that renders nothing doesn't wait for it at startup. */
  async #load(): Promise<Engine> {
    const { createEngine } = await import("./engine.ts");
    const engine = createEngine(this.#cache);
    Object.setPrototypeOf(this.#shared, engine.globals);
    for (const [name, directory] of this.#mounts) engine.mount(name, directory);
    for (const markup of this.#markup) engine.printUnescaped(markup);
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
   * Makes sure that a template exists.
   *
   * @throws `E_VIEW` with the path of the missing file, and suggestions
   */
  requireTemplate(template: string): void {
    const file = this.#fileOf(template);
    if (!existsSync(file)) throw this.#missing(template, file);
  }

  /** Reports whether a template exists. */
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

/**
 * Renders views for one request: `context.view`.
 *
 * Its templates can create URLs with `route("orders.show", { id: 1 }, { page: 2 })`, and have access to the request's
 * `user`, if the active guard has loaded one, and to everything that was shared for the request.
 */
export class View {
  readonly #views: Views;
  /** The values available in this request's templates. */
  readonly #values: RequestValues;

  /**
   * @param views renders the templates
   * @param context the request's context
   */
  constructor(views: Views, context: HttpContext) {
    this.#views = views;
    this.#values = new RequestValues(context);
  }

  /** Shares a value, or several by name, with all templates rendered for this request and their components. */
  share(values: Readonly<Record<string, unknown>>): this;
  share(name: string, value: unknown): this;
  share(values: string | Readonly<Record<string, unknown>>, value?: unknown): this {
    this.#values.share(typeof values === "string" ? { [values]: value } : values);
    return this;
  }

  /**
   * Renders a template to HTML, which a handler can return directly.
   *
   * @param template the template's name, such as `users/show`
   * @param data values for the template, by name
   * @throws `E_VIEW` if the template doesn't exist, or fails
   */
  render(template: string, data: object = {}): Promise<string> {
    return this.#views.render(template, data, this.#values);
  }
}

/** Creates a context's `view`, with the application's templates. */
export function viewOf(context: HttpContext, { container }: Pick<Application, "container">): View {
  return new View(container.make("views"), context);
}

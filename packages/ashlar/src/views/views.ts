import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { HttpContext } from "../http/index.ts";
import { AshlarError, suggestion } from "../support/index.ts";
import type { Engine } from "./engine.ts";

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

type EngineModule = typeof import("./engine.ts");

const CONTEXT = Symbol("context");

/** What templates know of one request. */
interface RequestValues extends Record<string, unknown> {
  readonly [CONTEXT]: HttpContext;
}

type RequestValuesClass = new (context: HttpContext) => RequestValues;

/** A class of its own for each application, since what its templates know stands on the prototype. */
function requestValues(shared: object): RequestValuesClass {
  class Values {
    readonly [CONTEXT]: HttpContext;

    constructor(context: HttpContext) {
      this[CONTEXT] = context;
    }

    /** Of when it is asked for: a handler may have logged somebody in or out since the request began. */
    get user(): unknown {
      return this[CONTEXT].currentUser;
    }

    set user(user: unknown) {
      own(this, "user", user);
    }
  }
  Object.setPrototypeOf(Values.prototype, shared);
  Reflect.deleteProperty(Values.prototype, "constructor");
  return Values as unknown as RequestValuesClass;
}

function own(values: object, name: string, value: unknown): void {
  Object.defineProperty(values, name, { value, writable: true, enumerable: true, configurable: true });
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
  /** What templates know of the request they are rendered for, behind which stands what is shared by all. */
  readonly #requestValues = requestValues(this.#shared);
  /** The names that were rendered; as many as there are templates. */
  readonly #rendered = new Set<string>();
  #loading: Promise<EngineModule> | null = null;
  #engine: Engine | null = null;

  constructor(options: ViewsOptions) {
    this.#cache = options.cache;
    this.#mounts.set(OWN, options.directory);
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
    Object.defineProperty(this.#requestValues.prototype, name, {
      configurable: true,
      get(this: RequestValues): unknown {
        const value = make(this[CONTEXT]);
        own(this, name, value);
        return value;
      },
      // A template may assign to it.
      set(this: RequestValues, value: unknown) {
        own(this, name, value);
      },
    });
  }

  /** @internal What templates know of a request. What is assigned to it is known to those rendered from then on. */
  valuesFor(context: HttpContext): Record<string, unknown> {
    return new this.#requestValues(context);
  }

  /**
   * Renders a template.
   *
   * @param template its name, without extension
   * @param data values for the template and its partials, by name; they go before shared ones
   * @param local values for this rendering that reach components too, or what {@link valuesFor} gave; they go before those
   * of {@link share}
   * @throws `E_VIEW` where there is no such template, or where it fails: with its name, file and line
   */
  async render(template: string, data: object = {}, local: object = {}): Promise<string> {
    // What was rendered before has a name that holds; what a name means is only asked again to explain a failure.
    if (!this.#rendered.has(template)) this.#fileOf(template);
    this.#loading ??= this.#load();
    const { trace } = await this.#loading;
    try {
      const html = await this.#engine!.render(template, data, this.#isRequest(local) ? local : this.#behind(local));
      this.#rendered.add(template);
      return html;
    } catch (error) {
      const file = this.#fileOf(template);
      if (!existsSync(file)) throw this.#missing(template, file);
      const { place, cause } = trace(error);
      const message = error instanceof Error ? error.message : String(error);
      throw new AshlarError("E_VIEW", `The view "${template}" failed at ${place ?? file}: ${message}`, { cause });
    }
  }

  #isRequest(local: object): boolean {
    return CONTEXT in local;
  }

  #behind(local: object): object {
    return Object.assign(Object.create(this.#shared) as object, local);
  }

  /** An application that renders nothing does not wait for the engine when it starts. */
  async #load(): Promise<EngineModule> {
    const module = await import("./engine.ts");
    this.#engine = module.createEngine(this.#cache);
    Object.setPrototypeOf(this.#shared, Object.assign(Object.create(null) as object, this.#engine.globals));
    for (const [name, directory] of this.#mounts) this.#engine.mount(name, directory);
    return module;
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

import {
  AshlarError,
  type Dictionary,
  dictionary,
  isPlainObject,
  isPrototypeName,
  type Message,
} from "../../support/index.ts";
import type { BodyLimits, RequestBody } from "../bodies/body.ts";
import { type FormFields, nestFields, parseForm, parseQuery } from "../bodies/form-parser.ts";
import { parseJson } from "../bodies/json-parser.ts";
import type { UploadedFile } from "../bodies/uploaded-file.ts";
import { decodeBodyText, headerParameters } from "../headers/media-types.ts";
import { message } from "../messages.ts";
import type { SchemaOutput, StandardSchema } from "./standard-schema.ts";
import {
  ABSENT,
  getPath,
  isFilled,
  readArray,
  readBoolean,
  readDate,
  readEnum,
  readFloat,
  readInteger,
  readString,
  removePath,
} from "./typed-inputs.ts";
import { validateInput } from "./validation.ts";
import "../errors.ts";

/** The sources of a request's inputs. */
export interface InputSource {
  /** The query, with or without its `?`. */
  readonly search: string;
  /** The result of `readBody`. */
  readonly body: RequestBody;
  readonly limits: BodyLimits;
  /** Receives the fields of the query and of a form when they are parsed. */
  readonly look: LookAtFields | null;
}

type LookAtFields = (fields: FormFields) => void;

const NOTHING: Dictionary = Object.freeze(dictionary());

/**
 * The inputs of one request, from its query and its body. If a name is in both, the body takes precedence.
 *
 * Everything is parsed on first use, so any operation may throw `E_BAD_REQUEST` for a malformed query, `E_INVALID_BODY`
 * for a malformed body, and `E_UNSUPPORTED_MEDIA_TYPE` for a body with a charset other than UTF-8.
 *
 * Names are paths: `a.b.c`, `a.0.b`, and `*` for all values of a list or an object. A JSON `null` is a value, so the
 * input is present. Lists and objects are returned as copies, so changing them has no effect here.
 */
export abstract class RequestInputs {
  #query: Dictionary | null = null;
  #body: Dictionary | unknown[] | null = null;
  #merged: Dictionary | null = null;
  #inputs: Dictionary | null = null;

  /** @internal Called when something is parsed. */
  protected abstract get inputSource(): InputSource;

  /** @internal Forgets the body's inputs, because the body has been read in the meantime. */
  protected forgetBody(): void {
    this.#body = null;
    this.#inputs = null;
  }

  /** The inputs of the query only, as a new dictionary. */
  get query(): Record<string, unknown> {
    return copy(this.#parsedQuery()) as Dictionary;
  }

  /** The inputs of the body only, as a new dictionary; those of a JSON list are under their indexes. */
  get body(): Record<string, unknown> {
    return copy({ ...this.#parsedBody() }) as Dictionary;
  }

  /** An input of the body only, by its name, which isn't a path; `null` if it is missing. Copies only this input. */
  bodyInput(name: string): unknown {
    const body = this.#parsedBody();
    return Object.prototype.propertyIsEnumerable.call(body, name) ? copy((body as Dictionary)[name]) : null;
  }

  /**
   * The input at a path.
   *
   * @param fallback the result if the path does not exist; default: `null`
   */
  input(name: string, fallback: unknown = null): unknown {
    const value = this.#find(name);
    return value === ABSENT ? fallback : value;
  }

  /** All inputs as a new dictionary, without those whose name begins with `__` and without files. */
  all(): Record<string, unknown> {
    return visible(this.#all());
  }

  /** The named inputs that are present, each under the given name. */
  only(...names: readonly string[]): Record<string, unknown> {
    const result = dictionary();
    for (const name of names) {
      const value = this.#find(name);
      if (value !== ABSENT) result[name] = value;
    }
    return result;
  }

  /** All inputs except the named ones. */
  except(...names: readonly string[]): Record<string, unknown> {
    const result = this.all();
    for (const name of names) removePath(result, name);
    return result;
  }

  /** Reports whether every one of the named inputs is present, even if it is blank or `null`. */
  has(...names: readonly string[]): boolean {
    return names.every((name) => this.#locate(name) !== ABSENT);
  }

  /** Reports whether at least one of the named inputs is present. */
  hasAny(...names: readonly string[]): boolean {
    return names.some((name) => this.#locate(name) !== ABSENT);
  }

  /** Reports whether at least one of the named inputs is absent. */
  missing(...names: readonly string[]): boolean {
    return !this.has(...names);
  }

  /**
   * Reports whether every one of the named inputs has something in it: not `null`, blank text, or an empty list or
   * object.
   */
  filled(...names: readonly string[]): boolean {
    return names.every((name) => isFilled(this.#locate(name)));
  }

  /** Adds inputs to this request. They replace those with the same name in the query and the body. */
  merge(values: Dictionary): this {
    this.#merged = { ...this.#merged, ...(copy(values) as Dictionary) };
    this.#inputs = null;
    return this;
  }

  /** The file with a name; the last one if there are several, `null` if there isn't one. */
  file(name: string): UploadedFile | null {
    return this.files(name).at(-1) ?? null;
  }

  /** All files with a name (`photos`), or in a list of that name (`photos[]`, `photos[0]`), in order. */
  files(name: string): UploadedFile[] {
    const { body } = this.inputSource;
    if (body.kind !== "multipart") return [];
    return body.files.filter(([part]) => fileField(part) === name).map(([, file]) => file);
  }

  /**
   * The input as text, `null` or the fallback if it is absent.
   *
   * @throws `E_INVALID_INPUT` if it is a number, a list, or anything else that is not text
   */
  string<F extends string | null = null>(name: string, fallback?: F): string | F {
    return readString(name, this.#locate(name)) ?? ((fallback ?? null) as F);
  }

  /**
   * The input as a whole number; `null` or the fallback if it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` if it is anything else, such as `1.5`, `1e3`, or a number beyond ±(2⁵³ − 1)
   */
  integer<F extends number | null = null>(name: string, fallback?: F): number | F {
    return readInteger(name, this.#locate(name)) ?? ((fallback ?? null) as F);
  }

  /**
   * The input as a finite number; `null` or the fallback if it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` if it is something else
   */
  float<F extends number | null = null>(name: string, fallback?: F): number | F {
    return readFloat(name, this.#locate(name)) ?? ((fallback ?? null) as F);
  }

  /**
   * The input as a boolean; `null` or the fallback if it is absent or blank, like an unchecked box.
   *
   * @throws `E_INVALID_INPUT` unless it is `true`, `false`, or the text `true`, `false`, `1`, `0`, `on`, `off`, `yes`, `no`
   */
  boolean<F extends boolean | null = null>(name: string, fallback?: F): boolean | F {
    return readBoolean(name, this.#locate(name)) ?? ((fallback ?? null) as F);
  }

  /**
   * The input as a date (`2026-01-31`, midnight UTC) or date with time (`2026-01-31T12:00:00+01:00`, UTC if it has no
   * offset) in ISO 8601; `null` or the fallback if it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` if it is anything else, or a day that does not exist
   */
  date<F extends Date | null = null>(name: string, fallback?: F): Date | F {
    return readDate(name, this.#locate(name)) ?? ((fallback ?? null) as F);
  }

  /**
   * The input as one of the given texts; `null` or the fallback if it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` if it is something else
   */
  enum<const T extends string, F extends T | null = null>(name: string, values: readonly T[], fallback?: F): T | F {
    return readEnum(name, this.#locate(name), values) ?? ((fallback ?? null) as F);
  }

  /**
   * The input as a list; `null` or the fallback if it is absent.
   *
   * @throws `E_INVALID_INPUT` if it is anything else, even a single text
   */
  array<F extends unknown[] | null = null>(name: string, fallback?: F): unknown[] | F {
    return readArray(name, this.#find(name)) ?? ((fallback ?? null) as F);
  }

  /**
   * Checks all inputs, files included, against a schema of any library that implements Standard Schema.
   *
   * ```ts
   * const order = await request.validate(z.object({ item: z.string(), amount: z.coerce.number().int() }));
   * ```
   *
   * Security: a schema's message that repeats the input, as Valibot's do by default, is replaced with `input.invalid`.
   * `params` contains only a rule's limits and the names of formats. Don't write secrets into your own messages,
   * because everything else in them is shown.
   *
   * @returns the schema's output
   * @throws `E_INVALID_INPUT` with all problems at once, by field; `E_UNSUPPORTED_MEDIA_TYPE` if the request has a body
   * of a type that is not read
   */
  async validate<S extends StandardSchema>(schema: S): Promise<SchemaOutput<S>> {
    const { body } = this.inputSource;
    if (body.kind === "unsupported") throw unsupported(message("body.type"));
    if (body.kind !== "multipart") return validateInput(schema, this.all());
    const nested = nestFields<unknown>([...body.fields, ...body.files], "E_INVALID_BODY");
    return validateInput(schema, visible(this.#combine(nested)));
  }

  #find(name: string): unknown {
    return copy(this.#locate(name));
  }

  #locate(name: string): unknown {
    const body = this.#parsedBody();
    // If the body is a list, `*` stands for that complete list, without the query.
    if (Array.isArray(body) && (name === "*" || name.startsWith("*."))) return getPath(body, name);
    return getPath(this.#all(), name);
  }

  #all(): Dictionary {
    this.#inputs ??= this.#combine(this.#parsedBody());
    return this.#inputs;
  }

  #combine(body: Dictionary | unknown[]): Dictionary {
    const query = this.#parsedQuery();
    if (query === NOTHING && this.#merged === null && !Array.isArray(body)) return body;
    return Object.assign(dictionary(), query, body, this.#merged);
  }

  #parsedQuery(): Dictionary {
    if (this.#query === null) {
      const { search, limits, look } = this.inputSource;
      const text = search.startsWith("?") ? search.slice(1) : search;
      this.#query = text === "" ? NOTHING : parseQuery(text, limits.maxFields, look);
    }
    return this.#query;
  }

  #parsedBody(): Dictionary | unknown[] {
    this.#body ??= parseBody(this.inputSource);
    return this.#body;
  }
}

function parseBody({ body, limits, look }: InputSource): Dictionary | unknown[] {
  switch (body.kind) {
    case "json":
      refuseCharset(body.type);
      return parseJson(body.bytes, limits.maxDepth, limits.maxJsonValues);
    case "form":
      refuseCharset(body.type);
      return parseForm(decodeBodyText(body.bytes), limits.maxFields, "E_INVALID_BODY", look);
    case "multipart":
    case "parts":
      look?.(body.fields);
      return nestFields(body.fields, "E_INVALID_BODY");
    default:
      return NOTHING;
  }
}

function refuseCharset(type: string): void {
  const charset = headerParameters(type)?.get("charset")?.toLowerCase() ?? "utf-8";
  if (charset !== "utf-8" && charset !== "utf8") throw unsupported(message("body.charset"));
}

function unsupported(detail: Message): AshlarError {
  return new AshlarError("E_UNSUPPORTED_MEDIA_TYPE", detail);
}

/** `photos`, `photos[]` and `photos[0]` are the field `photos`; `user[photo]` is the field `user.photo`. */
function fileField(part: string): string {
  return part
    .replace(/\[\d*\]$/, "")
    .replaceAll("[", ".")
    .replaceAll("]", "");
}

function visible(inputs: Dictionary): Dictionary {
  const result = dictionary();
  for (const name of Object.keys(inputs)) {
    if (!name.startsWith("__")) result[name] = copy(inputs[name]);
  }
  return result;
}

/** Copies lists and dictionaries deeply. Everything else stays the same. */
function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isPlainObject(value)) return value;
  const result = dictionary();
  for (const name of Object.keys(value)) {
    if (!isPrototypeName(name)) result[name] = copy(value[name]);
  }
  return result;
}

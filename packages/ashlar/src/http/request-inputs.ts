import type { Dictionary } from "../support/index.ts";
import type { Inputs } from "./inputs.ts";
import type { SchemaOutput, StandardSchema } from "./standard-schema.ts";
import type { UploadedFile } from "./uploaded-file.ts";

/**
 * The operations of a request that read its inputs: what its query and its body say, the body first where both have a
 * name.
 *
 * Names are paths: `a.b.c`, `a.0.b`, and `*` for all values of a list or an object. Every operation may throw
 * `E_BAD_REQUEST` for a malformed query and `E_INVALID_BODY` for a malformed body, since nothing is parsed before the
 * first of them is called.
 */
export abstract class RequestInputs {
  /** The inputs, made when they are first asked for. */
  protected abstract get inputs(): Inputs;

  /** The inputs of the query alone, as a new dictionary. */
  get query(): Dictionary {
    return this.inputs.query;
  }

  /** The inputs of the body alone, as a new dictionary. */
  get body(): Dictionary {
    return this.inputs.body;
  }

  /** One input of the body alone, by its name, which is not a path; `null` if it is missing. */
  bodyInput(name: string): unknown {
    return this.inputs.bodyInput(name);
  }

  /**
   * The input at a path, for any method.
   *
   * @param fallback what to give where the path leads nowhere; `null` where left out
   */
  input(name: string, fallback: unknown = null): unknown {
    return this.inputs.input(name, fallback);
  }

  /** All inputs as a new dictionary, without those whose name begins with `__` and without files. */
  all(): Dictionary {
    return this.inputs.all();
  }

  /** The named inputs that are present, each under the name that was asked for. */
  only(...names: readonly string[]): Dictionary {
    return this.inputs.only(...names);
  }

  /** All inputs but the named ones. */
  except(...names: readonly string[]): Dictionary {
    return this.inputs.except(...names);
  }

  /** Tells whether every one of the named inputs is present, be it blank or `null`. */
  has(...names: readonly string[]): boolean {
    return this.inputs.has(...names);
  }

  /** Tells whether at least one of the named inputs is present. */
  hasAny(...names: readonly string[]): boolean {
    return this.inputs.hasAny(...names);
  }

  /** Tells whether at least one of the named inputs is absent. */
  missing(...names: readonly string[]): boolean {
    return this.inputs.missing(...names);
  }

  /** Tells whether every one of the named inputs has something in it: not `null`, no blank text, no empty list or object. */
  filled(...names: readonly string[]): boolean {
    return this.inputs.filled(...names);
  }

  /** Adds inputs, for this request; they replace those of the same name. */
  merge(values: Dictionary): this {
    this.inputs.merge(values);
    return this;
  }

  /**
   * The input as text, `null` or the fallback where it is absent.
   *
   * @throws `E_INVALID_INPUT` where it is a number, a list, or anything else that is not text
   */
  string<F extends string | null = null>(name: string, fallback?: F): string | F {
    return this.inputs.string(name, fallback);
  }

  /**
   * The input as a whole number; `null` or the fallback where it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` where it is something else
   */
  integer<F extends number | null = null>(name: string, fallback?: F): number | F {
    return this.inputs.integer(name, fallback);
  }

  /**
   * The input as a finite number; `null` or the fallback where it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` where it is something else
   */
  float<F extends number | null = null>(name: string, fallback?: F): number | F {
    return this.inputs.float(name, fallback);
  }

  /**
   * The input as a boolean; `null` or the fallback where it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` unless it is `true`, `false`, or the text `true`, `false`, `1`, `0`, `on`, `off`, `yes`, `no`
   */
  boolean<F extends boolean | null = null>(name: string, fallback?: F): boolean | F {
    return this.inputs.boolean(name, fallback);
  }

  /**
   * The input as a date or date with time of ISO 8601; `null` or the fallback where it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` where it is something else, or a day that is not in the calendar
   */
  date<F extends Date | null = null>(name: string, fallback?: F): Date | F {
    return this.inputs.date(name, fallback);
  }

  /**
   * The input as one of the given texts; `null` or the fallback where it is absent or blank.
   *
   * @throws `E_INVALID_INPUT` where it is something else
   */
  enum<const T extends string, F extends T | null = null>(name: string, values: readonly T[], fallback?: F): T | F {
    return this.inputs.enum<T, F>(name, values, fallback);
  }

  /**
   * The input as a list; `null` or the fallback where it is absent.
   *
   * @throws `E_INVALID_INPUT` where it is something else: one text is not a list of one
   */
  array<F extends unknown[] | null = null>(name: string, fallback?: F): unknown[] | F {
    return this.inputs.array(name, fallback);
  }

  /** The file that came under a name; the last one where there are several, `null` where there is none. */
  file(name: string): UploadedFile | null {
    return this.inputs.file(name);
  }

  /** All files that came under a name (`photos`), or under it as a list (`photos[]`), in their order. */
  files(name: string): UploadedFile[] {
    return this.inputs.files(name);
  }

  /**
   * Checks all inputs, files included, against a schema of any library that keeps to Standard Schema.
   *
   * ```ts
   * const order = await request.validate(z.object({ item: z.string(), amount: z.coerce.number().int() }));
   * ```
   *
   * @returns what the schema makes of them
   * @throws `E_INVALID_INPUT` with all problems at once, by field; `E_UNSUPPORTED_MEDIA_TYPE` where the body is of a type
   * that is not read
   */
  validate<S extends StandardSchema>(schema: S): Promise<SchemaOutput<S>> {
    return this.inputs.validate(schema);
  }
}

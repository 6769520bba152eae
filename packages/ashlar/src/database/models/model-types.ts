import type { Constructor } from "../../support/index.ts";
import type { Model } from "./model.ts";

/** The names of a model's columns: its declared properties that aren't methods. If none are declared, any name. */
export type Column<M extends Model> = [DeclaredColumn<M>] extends [never] ? string : DeclaredColumn<M>;

type DeclaredColumn<M> = { [K in keyof M & string]: M[K] extends (...args: never) => unknown ? never : K }[keyof M &
  string];

/** Values for some of a model's columns. */
export type Attributes<M extends Model> = {
  readonly [K in Column<M>]?: (K extends keyof M ? M[K] : unknown) | null | undefined;
};

/** Functions that normalize text, by column. Each must be idempotent. */
export type Normalizers = Readonly<Record<string, (text: string) => string>>;

/** A model class, which mixins extend. */
export type ModelClass<M extends Model = Model> = Constructor<M> & Omit<typeof Model, "prototype">;

/** The value of a primary key. */
export type ModelKey = string | number | bigint;

import type { Kysely } from "kysely";
import type { Register } from "../../support/index.ts";

/**
 * The application's tables for Kysely's types; any table and column if the application declares none:
 *
 * ```ts
 * import type {} from "ashlar";
 * declare module "ashlar" { interface Register { tables: { orders: OrderRow } } }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: the type that lets Kysely take every table.
export type Tables = Register extends { tables: infer Known } ? Known : any;

/** The database's Kysely: every query through it runs in the caller's current transaction. */
export type QueryBuilder = Kysely<Tables>;

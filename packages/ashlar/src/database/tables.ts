import type { Kysely } from "kysely";
import type { Register } from "../support/index.ts";

/**
 * The application's tables, as Kysely is to know them; any table and any column where the application names none:
 *
 * ```ts
 * import type {} from "ashlar";
 * declare module "ashlar" { interface Register { tables: { orders: OrderRow } } }
 * ```
 */
// biome-ignore lint/suspicious/noExplicitAny: the type that lets Kysely take every table.
export type Tables = Register extends { tables: infer Known } ? Known : any;

/** Kysely, as the database hands it out: every query through it runs in the transaction that is under way. */
export type QueryBuilder = Kysely<Tables>;

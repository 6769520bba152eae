import { type DrizzleUsers, makeDrizzleUsers } from "../extensions/drizzle-users.ts";
import {
  PASSWORD,
  type TestAccounts,
  type TestAccountsOptions,
  testAccounts,
  type Visitor,
} from "./account-application.ts";

/** The input of the registration form. */
export const CLEO: Readonly<Record<"name" | "email" | "password" | "password_confirmation", string>> = {
  name: "Cleo",
  email: "cleo@example.com",
  password: PASSWORD,
  password_confirmation: PASSWORD,
};

/** An application whose users are in a custom store. */
export interface StoreShop {
  readonly accounts: TestAccounts;
  readonly store: DrizzleUsers;
  readonly rows: () => object[];
  /** A browser in which a user has registered. */
  readonly cleo: () => Promise<Visitor>;
}

/** Creates an application whose users are in a custom store, in another database. */
export async function storeShop(options: TestAccountsOptions = {}): Promise<StoreShop> {
  const { store, rows } = makeDrizzleUsers();
  const accounts = await testAccounts({ ...options, guards: { web: { driver: "web", model: store } } });
  const cleo = async () => {
    const visitor = accounts.visitor();
    await visitor.post("/register", CLEO);
    return visitor;
  };
  return { accounts, store, rows, cleo };
}

/** Returns whether a browser is logged in. */
export async function isIn(visitor: Visitor): Promise<boolean> {
  return (await visitor.get("/logins")).status === 200;
}

/** Makes the framework's part of a change fail until the returned function is called. */
export function breakLogins({ database }: TestAccounts): () => void {
  return database.onQuery(({ sql }) => {
    if (/^(?:delete from|update) "logins"/.test(sql)) throw new Error("The disk is full.");
  });
}

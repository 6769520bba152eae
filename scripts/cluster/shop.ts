import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProject, type ProjectOptions } from "../../packages/ashlar/src/scaffold/index.ts";
import { type MailServer, openMailServer } from "../../packages/ashlar/test/support/mail-server.ts";
import { COMMAND, ENVIRONMENT, type Instance, instancesOf, linkPackage } from "./instances.ts";

const MIGRATION = `
import { type Kysely, primaryKey } from "ashlar/database";

export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable("orders")
    .$call(primaryKey(database))
    .addColumn("user_id", "bigint", (column) => column.notNull())
    .addColumn("reference", "varchar(64)", (column) => column.notNull().unique())
    .execute();
}

export async function down(database: Kysely<unknown>): Promise<void> {
  await database.schema.dropTable("orders").execute();
}
`;

const MODEL = `
import { Model } from "ashlar/database";

export class Order extends Model {
  static override table = "orders";
  static override timestamps = false;
  static override fillable = ["user_id", "reference"];
  declare id: number;
  declare user_id: number;
  declare reference: string;
}
`;

const ROUTES = `
  Route.post("/orders", async ({ request }) => {
    await Order.create({ user_id: (await request.user()).id, reference: request.input("reference") });
    return { ok: true };
  }).middleware("guard:jwt"),
  Route.get("/orders", async ({ request }) => {
    const orders = await Order.where("user_id", (await request.user()).id).get();
    return orders.map(({ reference }) => reference);
  }).middleware("guard:jwt"),`;

/** Makes another process take over a killed process's mails after seconds instead of minutes. */
const OUTBOX = "\n  outbox: { pollSeconds: 1, claimSeconds: 5 },\n  retry: { delaySeconds: 0.5 },";

/** Variables of an environment. */
type Variables = Readonly<Record<string, string>>;

/** Changes a line of one of the application's files. */
export type Edit = (path: string, from: string, to: string) => void;

/** A generated application with pages, tokens and orders, and its own mail server. */
export interface Shop {
  readonly mail: MailServer;
  /** Creates an instance of it without starting it. */
  instance(): Promise<Instance>;
  /** Changes variables in its `.env`. Instances read them when they are restarted or reloaded. */
  setVariables(variables: Variables): void;
  remove(): Promise<void>;
}

/**
 * Generates the application, and migrates its database.
 *
 * @param databaseUrl for instances and migrations
 * @param prepare changes its files first
 * @param inFile variables in `.env`; those of the instances' own environment can't be changed while they run
 */
export async function openShop(
  database: ProjectOptions["database"],
  databaseUrl: string,
  prepare: (edit: Edit) => void = () => {},
  inFile: Variables = {},
): Promise<Shop> {
  const parent = mkdtempSync(join(tmpdir(), "ashlar-cluster-"));
  const { mail, close } = await openMailServer();
  const folder = join(parent, "shop");
  await createProject({ folder, pages: true, api: true, database });
  const edit = (path: string, from: string, to: string): void => {
    const text = readFileSync(join(folder, path), "utf8");
    if (!text.includes(from)) throw new Error(`${path} doesn't contain ${from}`);
    writeFileSync(
      join(folder, path),
      text.replace(from, () => to),
    );
  };
  linkPackage(folder);
  writeFileSync(join(folder, "database/migrations/2027_01_01_000000_create_orders.ts"), MIGRATION);
  writeFileSync(join(folder, "app/models/order.ts"), MODEL);
  edit("routes/api.ts", "export const ROUTES: RouteEntry[] = [", `export const ROUTES: RouteEntry[] = [${ROUTES}`);
  appendFileSync(join(folder, "routes/api.ts"), 'import { Order } from "../app/models/order.ts";\n');
  edit("config/mail.ts", "export const MAIL = {", `export const MAIL = {${OUTBOX}`);
  prepare(edit);
  const given = {
    DATABASE_URL: databaseUrl,
    MAIL_FROM: "shop@shop.example",
    SMTP_HOST: "127.0.0.1",
    SMTP_PORT: String(mail.port),
  };
  const env = Object.fromEntries(Object.entries(given).filter(([name]) => !(name in inFile)));
  const setVariables = (variables: Variables): void => {
    const file = join(folder, ".env");
    const others = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => !(line.split("=", 1)[0]! in variables));
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    writeFileSync(file, [...lines, ...others].join("\n"));
  };
  setVariables(inFile);
  const remove = async (): Promise<void> => {
    await close();
    rmSync(parent, { recursive: true, force: true });
  };
  try {
    execFileSync(process.execPath, [COMMAND, "migrate"], {
      cwd: folder,
      env: { ...process.env, ...ENVIRONMENT, ...env },
      stdio: ["ignore", "ignore", "inherit"],
    });
  } catch (error) {
    await remove();
    throw error;
  }
  return { mail, instance: instancesOf({ folder, env }), setVariables, remove };
}

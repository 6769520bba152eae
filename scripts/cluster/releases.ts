import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createProject } from "../../packages/ashlar/src/scaffold/index.ts";
import { linkPackage } from "./instances.ts";

const PAGE = join(import.meta.dirname, "../../docs/guides/zero-downtime.md");

/** A version of an application that renames a column in steps, in a separate folder. */
export interface Release {
  /** The step of the manual that leads to it. */
  readonly step: string;
  readonly folder: string;
}

/** Each version's code: the column that it reads, and its model. */
interface Version {
  readonly step: string;
  readonly column: "name" | "display_name";
  readonly model: string;
  /** The names of the migrations that are new in it. */
  readonly migrations: readonly string[];
}

function plainModel(column: Version["column"]): string {
  return `class Customer extends Model {
  static override table = "customers";
  static override timestamps = false;
  declare id: number;
  declare ${column}: string;
}
`;
}

/** The versions that the manual describes, with its models that write both columns. */
function versions(fences: readonly string[]): Version[] {
  const [expand, copy] = fences.filter((text) => text.startsWith("class Customer ")) as [string, string];
  return [
    { step: "before", column: "name", model: plainModel("name"), migrations: ["create_customers"] },
    {
      step: "expand",
      column: "name",
      model: expand,
      migrations: ["index_name_on_customers", "rename_name_to_display_name_in_customers"],
    },
    { step: "copy", column: "display_name", model: copy, migrations: ["copy_customer_names"] },
    {
      step: "contract",
      column: "display_name",
      model: plainModel("display_name"),
      migrations: ["let_customers_have_no_name"],
    },
    {
      step: "drop",
      column: "display_name",
      model: plainModel("display_name"),
      migrations: ["remove_name_from_customers"],
    },
  ];
}

/**
 * Generates an application on PostgreSQL, and each version of it with the migrations and models of the manual.
 *
 * @param parent gets a folder for each
 */
export async function makeReleases(parent: string): Promise<Release[]> {
  const page = readFileSync(PAGE, "utf8");
  const fences = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
  const shop = join(parent, "shop");
  await createProject({ folder: shop, pages: false, api: true, database: "postgres" });
  const releases: Release[] = [];
  let before = shop;
  for (const version of versions(fences)) {
    const folder = join(parent, version.step);
    // Each version includes the migrations of all earlier ones.
    cpSync(before, folder, { recursive: true, filter: (source) => !source.endsWith("node_modules") });
    linkPackage(folder);
    for (const name of version.migrations) {
      const text = fences.find((one) => one.startsWith("// database/migrations/") && one.includes(`_${name}.ts\n`));
      if (text === undefined) throw new Error(`${PAGE} has no migration ${name}.`);
      const [, path] = /^\/\/ (\S+)\n/.exec(text)!;
      writeFileSync(join(folder, path!), text);
    }
    writeFileSync(
      join(folder, "app/models/customer.ts"),
      `import { Model } from "ashlar/database";\n\nexport ${version.model}`,
    );
    writeRoutes(folder, version, before === shop);
    releases.push({ step: version.step, folder });
    before = folder;
  }
  return releases;
}

/** Customers are created, renamed and read; `version` tells which one has answered. */
function writeRoutes(folder: string, { step, column }: Version, isFirst: boolean): void {
  const file = join(folder, "routes/web.ts");
  const text = readFileSync(file, "utf8");
  const list = "export const ROUTES: RouteEntry[] = [";
  const begin = "  // The customers.\n";
  const end = "  // No more customers.\n";
  const routes = `${begin}  Route.post("/customers", async ({ request }) => {
    const made = await Customer.create({ ${column}: String(request.input("name")) });
    return { id: made.id, name: made.${column}, version: "${step}" };
  }),
  Route.put("/customers/@id:int", async ({ request }) => {
    const found = await Customer.findOrFail(Number(request.param("id")));
    found.${column} = String(request.input("name"));
    await found.save();
    return { id: found.id, name: found.${column}, version: "${step}" };
  }),
  Route.get("/customers/@id:int", async ({ request }) => {
    const found = await Customer.findOrFail(Number(request.param("id")));
    return { id: found.id, name: found.${column}, version: "${step}" };
  }),
${end}`;
  if (!text.includes(list)) throw new Error(`${file} doesn't contain ${list}`);
  const changed = isFirst
    ? `import { Customer } from "../app/models/customer.ts";\n${text.replace(list, `${list}\n${routes}`)}`
    : text.slice(0, text.indexOf(begin)) + routes + text.slice(text.indexOf(end) + end.length);
  writeFileSync(file, changed);
}

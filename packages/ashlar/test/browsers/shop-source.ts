import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { edit, generateApplication } from "../support/generated-application.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";

const ROUTES = (checkout: string): string => `import { Route, type RouteEntry, ValidationError } from "ashlar";

export const SHOP: RouteEntry[] = [
  Route.view("/notes", "notes").middleware("auth"),
  Route.post("/notes", () => {
    throw new ValidationError({ text: ["This is refused."] });
  }).middleware("auth"),
  Route.view("/basket", "basket"),
  Route.post("/basket", ({ response }) => response.away("${checkout}")),
  Route.view("/board", "board"),
  Route.get("/orders", ({ request }) => ({ path: request.getPath() })).middleware("auth"),
];
`;

const NOTES = `@component("layouts/sheet", { title: "Notes" })
  <form method="post" action="/notes">
    {{ csrf_field }}
    <label for="text">Text</label>
    <textarea id="text" name="text">{{ old("text", "") }}</textarea>
    <button>Save</button>
  </form>
@end
`;

const BASKET = `@component("layouts/sheet", { title: "Basket" })
  <form method="post" action="/basket">
    {{ csrf_field }}
    <button>Pay</button>
  </form>
@end
`;

/** A page for everyone that loads by itself what is behind the login. */
const BOARD = `@component("layouts/main", { title: "Board" })
  <h1>Board</h1>
  <img src="/orders?by=image" alt="">
  <link rel="prefetch" href="/account/password">
  <link rel="prefetch" href="/logout">
  <script src="/poll.js" defer></script>
@end
`;

const POLL = `setInterval(() => {
  fetch("/orders?by=poll");
  new Image().src = "/orders?by=image-" + Date.now();
}, 200);
`;

/** The source of a generated application with every feature for accounts, and pages of an author's own. */
export interface ShopSource {
  /** Copies it: two applications of one process share no module. Returns the copy's folder. */
  copy(): Promise<string>;
  readonly remove: () => Promise<void>;
}

/** @param checkout where its form for paying leads */
export async function shopSource(checkout = "https://checkout.elsewhere.test/pay"): Promise<ShopSource> {
  const { root, remove } = await generateApplication();
  await installPersonalTokens(root);
  await writeFile(join(root, "routes/shop.ts"), ROUTES(checkout));
  await writeFile(join(root, "views/notes.edge"), NOTES);
  await writeFile(join(root, "views/basket.edge"), BASKET);
  await writeFile(join(root, "views/board.edge"), BOARD);
  await writeFile(join(root, "public/poll.js"), POLL);
  await edit(root, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    'import { SHOP } from "./shop.ts";\n\nexport const ROUTES: RouteEntry[] = [\n  ...SHOP,',
  ]);
  let count = 0;
  const copy = async (): Promise<string> => {
    const folder = `${root}-${++count}`;
    await cp(root, folder, { recursive: true });
    return folder;
  };
  return { copy, remove };
}

import { expect, test } from "vitest";
import { Browser, sessionApplication } from "../../../test/support/session-application.ts";
import { Route, type RouteEntry } from "../../routing/index.ts";
import { SessionMiddleware } from "../index.ts";

/** Routes that use remembered data about a visitor, as guards do. */
const ROUTES: readonly RouteEntry[] = [
  Route.get("/put", ({ session }) => {
    session.put("a", 1);
    return session.id;
  }),
  Route.get("/read", ({ session }) => ({ id: session.id, all: session.all() })),
  Route.get("/login", ({ visitor }) => {
    visitor!.regenerate();
    return "";
  }),
  Route.get("/logout", ({ visitor }) => {
    visitor!.invalidate();
    return "";
  }),
  Route.get("/logout-of-one-guard", ({ visitor }) => {
    visitor!.flush();
    return "";
  }),
  Route.get("/guest", ({ visitor }) => {
    visitor!.intend("/orders");
    visitor!.intend("/desk", "staff");
    return "";
  }),
  Route.get("/intended", ({ visitor }) => [
    visitor!.intended("/home", "staff"),
    visitor!.intended("/home", "staff"),
    visitor!.intended("/home"),
    visitor!.intended("/home"),
  ]),
];

const open = async (): Promise<Browser> =>
  new Browser(await sessionApplication({ routes: ROUTES, web: [SessionMiddleware] }));
const read = async (browser: Browser): Promise<{ id: string; all: object }> =>
  JSON.parse((await browser.send("/read")).text);

test.each([
  ["S18 a login sets a new id and keeps the rest", "/login", true, { a: 1 }],
  ["S19 a logout removes everything, including the id", "/logout", true, {}],
  [
    "S69 logging out of one of two guards removes the data, and leaves the id to the other",
    "/logout-of-one-guard",
    false,
    {},
  ],
])("%s", async (_title, path, isOther, all) => {
  const browser = await open();
  const id = (await browser.send("/put")).text;
  await browser.send(path);
  const after = await read(browser);
  expect([after.id !== id, after.all]).toEqual([isOther, all]);
});

test("a guest's destination is remembered for each guard, once", async () => {
  const browser = await open();
  await browser.send("/guest");
  expect((await browser.send("/intended")).text).toBe('["/desk","/home","/orders","/home"]');
});

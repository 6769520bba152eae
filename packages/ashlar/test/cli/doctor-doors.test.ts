import { expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { edit, generatedApplication } from "../support/generated-application.ts";

interface Listed {
  readonly door: string;
  readonly route: string;
  readonly guard: string;
  readonly steps: readonly string[];
  readonly missing: readonly string[];
}

async function listed(root: string): Promise<{ readonly code: number | null; readonly doors: readonly Listed[] }> {
  const { code, output } = await ashlar(root, "doctor", "--doors", "--json");
  return { code, doors: JSON.parse(output) as readonly Listed[] };
}

const STEP = `{ name: "terms", page: "terms", check: () => "passed" }`;

test("a generated application's doors are those of its features", async () => {
  const root = await generatedApplication({});
  const { code, doors } = await listed(root);
  expect(code).toBe(0);
  expect(doors.map(({ door, route, guard }) => [door, route, guard])).toEqual(
    expect.arrayContaining([
      ["login", "POST /login", "web"],
      ["registration", "POST /register", "web"],
      ["token", "POST /api/auth", "jwt"],
      ["renewal", "POST /api/reauth", "jwt"],
    ]),
  );
  expect(doors.every(({ door }) => !door.endsWith("()"))).toBe(true);
});

test("an author's own door is listed with its guard and steps, and a door with fewer steps is an error", async () => {
  const root = await generatedApplication({});
  await edit(root, "config/auth.ts", [
    "  web: { model: User },",
    `  web: { model: User },\n  staff: { driver: "web", model: User, steps: [${STEP}] },\n  kiosk: { driver: "web", model: User, steps: [] },`,
  ]);
  await edit(root, "routes/web.ts", [
    'import { Route, type RouteEntry } from "ashlar";',
    'import { type HttpContext, Route, type RouteEntry } from "ashlar";',
  ]);
  await edit(root, "routes/web.ts", [
    "export const ROUTES: RouteEntry[] = [",
    `class MagicController {
  async store({ auth, request }: HttpContext) {
    return { in: (await auth.guard("kiosk").attemptById(request.string("id", ""))) !== null };
  }
}

export const ROUTES: RouteEntry[] = [
  Route.get("/terms", () => "the terms").name("terms"),
  Route.post("/magic", [MagicController, "store"]),
  Route.post("/staff", async ({ auth, request }: HttpContext) => {
    return { in: (await auth.attempt(request.input("email"), request.input("password"))) !== null };
  }).middleware("guard:staff"),
  Route.post("/search", ({ request }: HttpContext) => "attempt(" + request.string("q", "") + ")"),`,
  ]);
  const { code, doors } = await listed(root);
  expect(code).toBe(1);
  const own = doors.filter(({ door }) => door.endsWith("()"));
  expect(own.map(({ door, route, guard, steps, missing }) => [door, route, guard, steps, missing])).toEqual([
    ["attemptById()", "POST /magic", "kiosk", [], ["terms"]],
    ["attempt()", "POST /staff", "staff", ["terms"], []],
  ]);
  const { output } = await ashlar(root, "doctor", "--doors");
  expect(output).toMatch(/POST \/magic \(attemptById\(\)\) logs in with the guard "kiosk", which doesn't ask terms\./);
});

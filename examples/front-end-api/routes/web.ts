import { Route, type RouteEntry, ValidationError } from "ashlar";
import { Api } from "ashlar/api";
import { Auth } from "ashlar/auth";
import { Csrf } from "ashlar/session";
import { AuthControllers } from "../app/controllers/auth/index.ts";

export const ROUTES: RouteEntry[] = [
  Route.get("/", () => ({ name: "Shop" })).name("root"),
  ...Auth.routes(AuthControllers, { json: true }),
  ...Csrf.routes(),
  ...Api.routes(),

  // The front ends edit this, once the address is verified.
  Route.put("/profile", async ({ request }) => {
    const user = request.user()!;
    const name = request.string("name", "").trim();
    if (name === "" || name.length > 100) throw new ValidationError({ name: ["Use 1 to 100 characters."] });
    user.name = name;
    await user.save();
    return { user };
  })
    .name("profile")
    .middleware("auth", "verified"),
];

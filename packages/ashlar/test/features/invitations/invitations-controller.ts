import { type HttpContext, Route, type RouteEntry } from "ashlar";

/** Handles the routes of invitations. */
export class InvitationsController {
  static routes(): readonly RouteEntry[] {
    return [
      Route.post("/invitations", [InvitationsController, "store"]).middleware("throttle:invitations"),
      Route.get("/invitations/@invitation_code", [InvitationsController, "show"])
        .name("invitations.show")
        .middleware("invited"),
    ];
  }

  async store({ request, response, invitations }: HttpContext): Promise<unknown> {
    await invitations.invite(request.string("email"));
    return response.status(202).json({ sent: true });
  }

  async show(context: HttpContext): Promise<object> {
    const email = context.invitations.read(context);
    await context.invitations.accept(email);
    return { email };
  }
}

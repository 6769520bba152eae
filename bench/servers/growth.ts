// Serves the application of growth-application.ts, on the database that the environment names.
import { growthApplication } from "./growth-application.ts";

const application = await growthApplication(JSON.parse(process.env.CONNECTION!) as object);
await application.listen({ port: Number(process.env.PORT), hostname: "127.0.0.1" });

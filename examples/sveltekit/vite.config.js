import adapter from "@sveltejs/adapter-node";
import { sveltekit } from "@sveltejs/kit/vite";

// The address of the site, as Ashlar knows it too. Forms from other sites are refused.
const { APP_URL: origin } = process.env;

export default { plugins: [sveltekit({ adapter: adapter(), paths: { origin } })] };

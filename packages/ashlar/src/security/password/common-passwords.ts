/**
 * The commonest passwords of at least 8 bytes, in lower case, as the published lists of leaked passwords have them; those
 * that are a common word with a common ending are left out here.
 */
export const COMMON_PASSWORDS: string = `
password3 passw0rd p@ssw0rd p@ssword pa55word pa55w0rd pa$$word pa$$w0rd p@$$w0rd p@$$word passw0rd1 p@ssw0rd1
p@ssw0rd123 p@ssw0rd! passwords mypassword mypass123 password0 password7 password9 password10 password13 newpassword
nopassword thepassword ourpassword yourpassword adminpassword passphrase passport password. password1. drowssap
motdepasse contrasena contraseña wachtwoord parola123 haslo123 heslo123 jelszo123 salasana losenord lösenord
adgangskode 12345678 123456789 1234567890 12345678910 123456789a 123456789q 1234567891 12345678901 123456780
1234567899 12345679 123456987 123456123 123456123456 12345123 1234512345 12341234 123412345 123123123 1231231231
12312312 123321123 123321123321 1233211234 123454321 1234554321 12345654321 123456654321 1234567654321
12345678987654321 123457890 12345qwert 12345qwerty 123456qwerty 123456asd 123456abc 123456aa 123456as 123456az
123456zx 123qweasd 123qweasdzxc 123qwe123 123qwe456 123qwerty 1234qwer 1234qwerty 1234abcd 1234asdf 1q2w3e4r
1q2w3e4r5t 1q2w3e4r5t6y 1q2w3e4r5t6y7u 1qaz2wsx 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qazxsw2 1qaz@wsx 1qazxsw23edc 1a2b3c4d
1a2s3d4f 1a2b3c4d5e 1w2q3e4r 1111111a 11112222 111222333 11223344 1122334455 112233445566 11235813 112358132134
112112112 11111112 121212121 12121212 1212121212 12131415 123123qwe 123123aa 123123abc 13131313 131313131 14141414
14121412 147147147 147258369 147852369 1472583690 159159159 159357159 159753159 159753456 159357258 1593572486
15975321 159263487 19191919 20202020 202020202 21212121 23232323 234567890 23456789 24242424 25252525 252525252
258258258 258456258 26262626 27272727 28282828 29292929 31313131 31415926 314159265 3141592653 32323232 32165498
321321321 321654987 34343434 369369369 369258147 36363636 41414141 42424242 43214321 45454545 456456456 456789123
45678912 456123789 46464646 48484848 50505050 51505150 51515151 52525252 54321543 543215432 54545454 5432112345
55556666 56565656 56785678 567567567 616161616 64646464 654321654 65432100 65656565 666999666 67676767 68686868
69696969 696969696 70707070 741852963 74108520 741741741 74747474 753159456 753951456 75757575 76543210 7777777a
777888999 78787878 7894561230 78945612 789456123 789789789 78963214 789632145 789456123a 80808080 81818181 84848484
852456852 85208520 852852852 85858585 86868686 87654321 876543210 87878787 89898989 90909090 91919191 951753951
963852741 96385274 963963963 987456321 98765432 987654321 9876543210 9876543211 98769876 987987987 98989898 00001111
01010101 010203040 0102030405 01020304 01234567 012345678 0123456789 01230123 01011980 01011990 01012000 09876543
098765432 0987654321 0147258369 0123654789 00000001 00112233 0011223344 0192837465 11011011 10101010 101010101
1010101010 10203040 1020304050 102030405060 10293847 1029384756 100000000 10011001 10201020 qwertyui qwertyuio
qwertyuiop[] qwerty123456789 qwerty77 qwerty21 qwerty22 qwerty13 qwerty!1 qwertyasdf qwertyasdfgh qwertyzxcvbn
qwer4321 qwerasdf qwerasdfzxcv qweqweqwe qweasdqwe qwe123qwe qwe123asd qwe123rty qwaszxerdfcv qazwsxedcrfv
qazwsxedcrfvtgb qazxswedc qazxswedcvfr qazxsw123 qazqazqaz qaz123wsx qaz12345 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6
q1q1q1q1 q1234567 q12345678 q123456789 qq123456 qq123456789 qqww1122 qqwwee112233 qwertzui qwertzuiop azertyui
azertyuiop asdfghjk asdfghjkl; asdfasdfasdf asdfqwer asdf4321 asd123asd asdasdasd asdqwe123 asdzxc123 a1s2d3f4
a1s2d3f4g5 a1b2c3d4 a1b2c3d4e5 a1234567 a12345678 a123456789 a123456a a1b2c3d4e5f6 a1a1a1a1 a11111111 aa123456
aa12345678 aa123456789 aa112233 aaa11111 aaa12345 aaaa1111 aabbccdd aabb1122 abc1234567 abc12345678 abc123456789
abc123abc abc123xyz abcabcabc abcdefgh abcdefghi abcdefghij abcdefghijk abcdefghijkl zxcvbnm, zxcvbnm,. zxcvbnm,./
zxcvbnmasd zxcv1234 zxcvzxcv zxczxczxc zxc123zxc zaq12wsx zaq1xsw2 zaq1zaq1 zaqwsx123 zaqxswcde zaq!2wsx zaq1@wsx
z1x2c3v4 z1x2c3v4b5 zz123456 !qaz2wsx !qaz@wsx 1qaz!qaz !@#$%^&* !@#$%^&*( !@#$%^&*() !@#$1234 123!@#qwe 1234!@#$
123456!@ 1q2w3e!@ q1w2e3!@ poiuytre lkjhgfds lkjhgfdsa mnbvcxz1 mnbvcxzlkj 0okm9ijn 9ijn8uhb 7ujm8ik9 4rfv5tgb
3edc4rfv 2wsx3edc 2wsx1qaz 6yhn7ujm 5tgb6yhn qpwoeiru qpwoeiruty woaini520 woaini1314 woaini123 woaini521 5201314520
52013145 iloveyou520 wang1234 zhang123 hjkl1234 fghj4567 tyui5678 yuiop123 йцукенгш йцукенгшщз йцукен123 йцукен
фывапролд фывапролджэ ячсмить пароль пароль123 пароль1 привет привет123 любовь максим наташа марина солнышко спартак
люблю 密码123456 我爱你 我爱你123 パスワード 비밀번호 iloveyou3 iloveyou22 ilovejesus ilovemom ilovemum ilovedad iloveher ilovejustin
ilovemike ilovejohn ilovematt ilovealex ilovejosh ilovechris ilovenick ilovejames ilovemyself ilovemymom ilovemydog
ilovecats ilovedogs ilovemusic ilovesex iloveyouu ihatethis lovehate lovebird lovebug1 lovergirl lovegirl lovesyou
loveforever lovers12 love2love love4ever love4life love4you loveislife loveless lovelyday lovepeace lovestory luvyou12
foreverlove myloveis tequieromucho teamomucho teamoamor miamor123 tiamo123 jetaime1 jetaimefort tequieromuchisimo
mahalko123 saranghae sarangheyo kochamcie kocham123 miluju123 seviyorum seniseviyorum welcomehome letmeinn letmein22
letmeinnow openthedoor sesame12 changethis changepassword defaultpassword temppass temppassword secrets1 admin@1234
adminroot admin001 administrateur administrador rootadmin toor1234 toortoor superuser test123test testpassword
guestuser oracle123 mysql123 sqlserver access14 logmein1 masterkey masterpass p0o9i8u7 p0o9i8u7y6 pass@1234 pass@word
pass@word1 passme123 passkey1 mypasswd trustnoone trust123 iforgot1 iforgotit forgotten forgetme anything1 whocares
dontknow donotknow dunno123 notmypassword none1234 asdfjkl; asdfjkl1 jkl;asdf football10 soccer10 soccer13 soccer22
skateboarding snowboarding cheering rugby123 golfgolf golfball golfing1 golfer12 bowling1 fisherman running1 cycling1
dancing1 dragonballz dragonfire dragons1 monkeys1 monkey13 monkey22 monkeyboy monkeyman monkeybutt shadow13 shadows1
supernova supernatural superhero batmobile wonderwoman captainamerica lukeskywalker obiwankenobi chewbacca jediknight
jedimaster yoda1234 gryffindor slytherin ravenclaw hufflepuff hermione voldemort dumbledore gandalf1 lordoftherings
mordor123 sauron123 gollum123 hobbit123 titanic1 vampires werewolf zombies1 walkingdead gameofthrones winterfell
khaleesi targaryen johnsnow1 breakingbad heisenberg bartsimpson homersimpson futurama squidward scooby12 bulbasaur
squirtle narutouzumaki uchiha123 itachi123 kakashi1 winniethepooh eeyore12 minnie12 minniemouse donaldduck
littlemermaid nemo1234 simba123 stitch12 bambi123 pinocchio barbiegirl elmo1234 smurf123 daffyduck looneytunes
tazmania roadrunner leagueoflegends league123 counterstrike counter1 callofduty4 modernwarfare battlefield3 assassins
assassinscreed grandtheftauto gta12345 sanandreas vicecity worldofwarcraft warcraft3 warhammer warhammer40k diablo22
halo1234 halo3odst metalgear finalfantasy finalfantasy7 kingdomhearts chronotrigger megaman1 megamanx sonic123
sonicx12 sephiroth cloud123 cloudstrife zelda123 legendofzelda supermario mariobros luigi123 nintendo64 playstation3
playstation4 xbox3600 xbox360live xboxlive gamecube gameboy1 gamemaster gaming123 steam123 tombraider laracroft
pacman12 tetris12 eldenring darksouls skyrim123 fallout3 fallout4 mustang5 mustang6 mustang65 mustang66 mustang67
mustanggt mustangs camaross chevelle chevy123 chevy350 transam1 pontiac1 mercedesbenz porsche9 porsche911 ferrari458
maserati bugatti1 corolla1 camry123 hondacivic civic123 hondacrx accord12 nissan350z skyline1 skyliner34 imprezza
impreza1 lancerevo mazda123 mazdarx7 mazda323 yamahar1 yamahar6 ducati916 harleydavidson harleyd1 motorbike volvo123
volvo850 audi1234 audia4b6 bmw325i1 bmwm3gtr renault1 peugeot1 peugeot206 peugeot307 citroen1 opel1234 vauxhall
rangerover jeepcherokee jeep1234 chrysler dodge123 viper123 charger1 ford1234 fordf150 fordtruck fordford formula1
ferrarif1 nascar12 nascar24 nascar88 nascar48 earnhardt dale3333 earnhardt3 jeffgordon jordan23 jordan23! jordan10
jordan22 michaeljordan kobebryant kobe2424 lebron23 lebronjames lebron123 iverson3 iverson1 shaq3434 lakers24 lakers08
celtics1 celtics34 knicks12 spurs123 spurs210 chicago23 chicagobulls bulls123 cowboys22 cowboys8 cowboys88
dallascowboys steelers7 packers4 broncos7 vikings1 vikings28 vikings84 giants10 bears123 bears3434 falcons1 jaguars1
chiefs12 49ers123 49ersfan sf49ers1 browns12 bengals1 ravens12 ravens52 colts123 colts1818 redwings19 bruins12
flyers12 blackhawks canadiens mapleleafs yankees13 yankeesfan redsox04 redsox34 bostonredsox boston617 cubs1234
cubsfan1 athletics mets1986 nymets123 braves12 braves10 indians1 liverpool8 liverpool9 liverpoolfc lfc12345 chelsea8
chelseafc arsenal14 arsenal10 arsenalfc manchesterunited hotspurs westhamunited sunderland leedsunited leeds123
celtic1888 celticfc rangersfc rangers1872 barcelona10 realmadrid7 realmadrid10 hala1234 halamadrid atletico juventus10
juve1897 milan1899 intermilan inter1908 napoli1926 asroma1927 forzaroma forzajuve forzamilan forzainter bayernmunchen
bayern1900 borussia borussia09 dortmund dortmund09 bvb09bvb schalke04 schalke1 werder123 werderbremen hsv12345
ajaxajax ajax1900 ajax1234 psv12345 benfica1 benfica1904 porto123 galatasaray1905 fenerbahce1907 besiktas1903
olympiakos panathinaikos spartak1 spartak1922 zenit123 cska1911 dinamo123 palmeiras santos123 chivas10 pumas123
ronaldo7 ronaldo07 ronaldo9 ronaldinho ronaldinho10 cristiano cristiano7 cristianoronaldo cr7cr7cr7 messi123 messi1010
messi10messi lionelmessi neymar11 neymar10 neymarjr beckham1 beckham7 beckham23 beckham07 gerrard8 gerrard1
fernandotorres torres99 rooney10 rooney123 zidane10 maradona maradona10 ibrahimovic michael7 michaeljackson christin
christie alexandre alexandru alexande stephani nathalie nathaniel matthew3 daniel10 daniel13 danielito andreea1
andreita angelita angeleyes angelface austin316 beatriz1 bernardo bernard1 carolyn1 charlie5 charlene chelsey1
cynthia1 davidson deborah1 estefania fabiana1 federica federico felicia1 francisca frederic gemma123 geoffrey georgina
geraldine giuseppe giulia123 gonzalo1 guillaume gustavo1 jackson5 james007 jermaine jesus777 jesusislord jesusloves
jesuslovesme jesusfreak jesussaves johnson1 jordan14 juliana1 juliette kathryn1 katrina1 kimberley kristin1 kristine
laurence leonard1 lindsay1 lindsey1 lorenzo1 lorraine madeline madeleine margherita marianne maricela mariajose
marissa1 martina1 martine1 mathieu1 matilda1 mauricio maximilian maxwell1 micheal1 michele1 nadia123 orlando1 patrizia
pauline1 penelope philippe phillip1 phillips raphael1 roberta1 rolando1 roxanne1 russell1 salvatore sebastien
silvia123 simone12 stefania stefano1 stefanie sullivan sylvester taylor13 taylorswift taylorswift13 theodore theresa1
therese1 thompson valentin valentino veronika vincenzo wilfredo yolanda1 yvonne12 butterfly7 butterflies elephants
kittens1 pussylover puppies1 doggy123 dogcat123 dogsrule catsrule catsanddogs snowman1 tigerwoods lions123 leopard1
cheetah1 wolfgang wolves12 eagleeye eagles05 hawk1234 hawkeye1 phoenix7 dolphins13 dolphin7 whale123 shark123 sharks12
turtles1 snake123 unicorns pegasus1 horselover mustang0 ponyboy1 cowgirls bunnyrabbit chickens duckduck ducky123
ducks123 froggie1 ladybird honeybear honeybun honeybunny sweety12 sweet16! sweetgirl sweets12 sugar123 sugarbaby
cookiemonster brownies pancake1 pancakes waffles1 chocolat vanilla1 caramel1 raspberry cherries applepie oranges1
peanuts1 peanutbutter tomato12 pickles1 pickle12 cheesecake peppers1 pepperoni pizzahut spaghetti macaroni lasagna1
hamburger sandwich starbucks coca-cola pepsi123 pepsicola mountaindew mtndew12 budweiser jackdaniels jackdaniel
vodka123 whiskey1 whisky12 beer1234 beerbeer summer07 summer08 summer09 summer10 summer13 summer2019 winter09 winter10
winter2019 spring2019 springtime february14 march123 may12345 june1234 july1234 july2000 september9 october10
october31 december25 friday13 christmas25 xmas1234 halloween31 easter12 newyear1 holiday1 holidays purple13 purple22
purplerain purplehaze yellow22 orange22 bluesky1 bluedog1 bluefish blue2222 redred12 redrum12 redhead1 redhot12
redrose1 redroses blackie1 blackbird blackrose blackmagic blackwhite blackout blackbelt blacky12 whiteboy whitetiger
whiterose silverfox silversurfer goldenboy goldeneye pinklove pinky123 pinkie12 pinkpanther rainbow7 killerman
killers1 killme12 killyou1 hackers1 h4ck3r12 hackthis hackme12 ninjaman warlock1 knights1 soldier1 soldiers pimpin12
pimpdaddy bigred12 bigmac12 bigblock biggirl1 bigtits1 bigbooty bigpimp1 bitches1 bitchass assholes fuckyou3
fuckyoubitch fuckyouall fuckthat fuckface fucker12 fuckers1 fuckitall fuckfuck fuckinga shit1234 shitshit fatass12
faggot12 retard12 nigger12 sexyboy1 sexybabe sexybaby sexyman1 sexyme12 sexsexsex sex12345 pornstar pornporn lesbian1
vagina12 penis123 boobs123 boobies1 booger12 bootycall blowjobs blowjob1 cocksucker suckit12 suckme69 hardcock
hardrock stripper cumshot1 cumming1 horny123 threesome nudes123 naked123 69696969a 420blaze blazeit420 smokeweed
smokeweed420 smoke420 weed4200 weed420! weed1234 marijuana marijuana420 ganja420 cannabis bobmarley420 rastaman
rasta420 reggae12 jamaican stoner420 pothead1 pothead420 highlife megadeth slayer66 slayer666 slipknot666
ironmaiden666 blacksabbath ozzyosbourne pantera1 kurtcobain limpbizkit systemofadown mychemicalromance fallout1
blink182 blink182! blink1821 sum41sum41 avrillavigne avril123 eminem313 marshallmathers 50cent50 50cent12 50centgunit
gunit123 tupac123 tupacshakur 2pac2pac 2pac1234 biggie12 biggiesmalls snoopdogg beyonce1 britney1 britneyspears
katyperry jonasbrothers joejonas directioner niallhoran liampayne zaynmalik bieber123 belieber selenagomez demilovato
mileycyrus highschoolmusical zacefron edsheeran u2u2u2u2 acdcacdc acdc1234 thebeatles beatles4 johnlennon lennon12
rollingstones rollingstone elvis123 elvispresley presley1 freddiemercury gnrslash kissarmy kisses12 thedoors
jimmorrison jimihendrix hendrix1 santana1 guitars1 guitarist guitarhero guitarhero3 stratocaster telecaster gibson12
gibsonlespaul lespaul1 drums123 bassman1 bassplayer piano123 pianoman saxophone violin12 musicman musiclover
musicislife musical1 rockon12 punk1234 punkrocker rapper12 techno12 technics djtiesto trance12 armin123 americana
mexico10 mexico13 brazil12 brazil10 argentina10 chile123 peru1234 bolivia1 paraguay uruguay1 honduras elsalvador
guatemala nicaragua dominican dominicana cuba1234 england66 irish123 wales123 france98 espana12 españa12 italia90
italia06 italiano italian1 schweiz1 austria1 belgium1 belgique portugal7 sweden12 norway12 norge123 danmark1 denmark1
finland1 suomi123 poland12 hungary1 bulgaria croatia1 hrvatska serbia12 srbija12 kosovo12 albania1 shqiperia greece12
hellas12 turkiyem ankara06 istanbul34 jerusalem lebanon1 iran1234 iraniran pakistan786 nepal123 taiwan12 japan123
tokyo123 nihon123 korea123 pinoy123 pilipinas aussie12 ghana123 kenya123 morocco1 maroc123 algerie1 algeria1 tunisie1
tunisia1 egypt123 london2012 londonengland parisfrance munchen1 wien1234 zurich12 brussels barcelona92 lisboa12
roma1234 romaroma milano12 torino12 firenze1 venezia1 athens12 moscow12 moskva12 moskva77 stpetersburg warszawa
krakow12 praha123 bucuresti beograd1 zagreb12 sarajevo dublin12 glasgow1 edinburgh bristol1 cardiff1 cali1234 houston1
houston713 dallas214 austin512 sanantonio denver12 denver303 phoenix602 vegas123 sandiego619 sanfrancisco oakland1
oakland510 seattle1 seattle206 chicago312 detroit1 detroit313 pittsburgh philadelphia philly12 philly215 baltimore
atlanta1 atlanta404 miami305 orlando407 tampabay memphis1 neworleans hawaii12 hawaii50 hawaii808 alaska12 minnesota
badgers1 nebraska crimson1 wildcat1 seminoles hurricanes lsutigers auburn12 clemson1 harvard1 princeton mummy123
mumanddad momanddad mamapapa mamamia1 mamaypapa mamita12 papa1234 papapapa papito12 daddygirl sisters1 sisters3
grandpa1 mybabies mybabygirl mybabyboy babygirl13 babybear babyangel babykitty baby2000 babylon5 bebita12 bebe1234
bebito12 mychildren mykids03 mygirls2 mygirls3 myangel1 myangels mylover1 myheart1 myhusband mywife12 myfriend
myfriends mydarling fb123456 gmail123 yahoo.com hotmail.com gmail.com spotify1 discord1 tiktok12 windows7 windows98
windowsxp windows10 windows95 ubuntu12 debian12 android1 iphone4s iphone5s macintosh macbook1 macbookpro dell1234
panasonic philips1 siemens1 nokia6300 nokian73 nokian95 ericsson sonyericsson sony1234 sonysony hewlett1 pentium4
pentium3 monitor1 printer1 mouse123 mousepad website1 programmer blessings church12 heavenly angel666 lucifer1
lucifer666 satan666 devil666 demon666 666satan hellfire hell1234 hailsatan god12345 godisgreat godislove7 godfirst1
godsgift godslove allah123 allah786 allahuakbar allahisgreat alhamdulillah bismillah786 786786786 78678678 mashallah
inshallah subhanallah islam123 islamabad harekrishna ganesha1 shivshakti omnamahshivaya jaishreeram hanuman1 namaste1
karma123 peacelove peace4all freedom7 honesty1 strength believeme faithhope faith123 hope1234 hopeful1 miracles
destiny7 dreamers dreams12 dreamcatcher dreambig happydays happyfeet happygirl happyface happylife happy2day smile4me
smiles12 laughter laughing flowerpower daisyduke daisydog roses123 lilies12 orchid12 tulips12 ruby1234 amethyst
moneymaker moneyman mymoney1 millionaire millions bigmoney richrich richie12 ca$hmoney dollar12 lottery1 casino12
poker123 jackpot1 lucky777 lucky7777 luckydog luckyme1 luckystar luckystrike luckycharm luckyone lucky13! thirteen
thirteen13 seventeen thunderbird lightning95 tsunami1 earthquake storm123 stormy12 rainyday sunrise1 sunset12
moonshine moonstar moonbeam stargazer starfire stars123 starbuck galaxy12 neptune1 mercury1 apollo13 endeavour
forever21 4everlove foreveryoung foreverandever alwaysandforever always12 friends4ever bestbuds bestmate boyfriend
girlfriend partner1 partners husband1 marriage married1 justmarried wedding1 honeymoon engaged1 nicetomeetyou hellome1
hellooooo hello2you goodbye1 goodboy1 goodmorning goodnight goodtimes goodlife goodday1 goodness goodyear badassbitch
badbitch bad2bone boogie12 buddyboy buddydog belleza1 bonita12 bright12 broken12 brokenheart brutus12 callie12
candyman candygirl christ12 chubby12 cleopatra cloverleaf crazyboy crazycat crazylove crazyman cristal1 cuddles1
cutegirl cyclone1 daddyyankee daffodil dallas22 daredevil darkknight darklord darkstar deadman1 digital1 disaster
division doctor12 dominant domino12 donnie12 doodle12 electric elements elevator eleven11 emperor1 empire12 escorpion
estrellita eternal1 everlast evergreen express1 extreme1 fantasia fantastic fashion1 firefly1 firefighter firefox1
flipper1 florence flounder fountain freckles freeman1 freestyle freeuser friendly frosty12 funnyman generals genesis1
gibbons1 girls123 girlpower global12 gofish12 godiva12 gonzales gordon24 graduate graphics grateful gratefuldead
greatone greenbay griffin1 grizzly1 gunners1 gunner12 handyman happydog harmony1 harvey12 hawaiian headache heartbeat
heartbreak hearts12 helicopter highland hillbilly homework homerun1 honolulu hooters1 hottie101 hotgirl1 hotmama1
hotchick hotrod12 hotshot1 hustler1 icecube1 imagine1 imperial imperator impossible incubus1 indigo12 infantry
inferno1 infinite innocent insanity insomnia inspector integra1 intrepid invisible iscool12 islander jellybeans
johnnybravo jokers12 juggalo1 juggalo17 jumper12 katana12 kawaii12 kings123 kingdom1 kingfish knockout labrador
lancer12 landon12 legendary legends1 lemonade library1 lifeislife lightbulb lighthouse limewire lineage2 liquid12
littlegirl littleone livelife lollypop london2010 lonely12 looking1 looser12 lucky888 machine1 maddog12 magician
majestic malibu12 marine12 mariners mermaid1 millenium millennium milkshake mischief missy123 mollydog montreal
mortgage mountains movies12 murphy12 mustard1 mutation mystery1 mystical nascar03 navyseal navyseals newport1 newstart
nightowl nissan240 november5 numbers1 obsidian official oldschool omega123 optimist optimus1 optimusprime orgasmic
outlaw12 overlord overload pacific1 painter1 pandora1 paradox1 paramedic password22 password23 password21 password88
pathetic perfect1 perfect10 philosophy picture1 pictures pinetree piramide pirates1 pirate12 planet12 playtime
plymouth poison12 polaris1 polopolo popeye12 poppop12 popstar1 powerful powerranger powerrangers preacher premier1
presario prettyinpink prettywoman princesita princess13 princess10 princess7 princess3 princess22 principe privacy1
private1 problem1 progress prophecy prospect prosperity puppy101 pyramid1 quality1 quantum1 queenbee rachael1 radical1
rambo123 ramones1 raptor12 rascal12 reading1 rebels12 reckless redskin1 redwood1 regional relax123 reload12 republic
residentevil response retired1 revolution revolver reynolds rhiannon rhythm12 rightnow robinhood robotech robotics
rockets1 rockydog rockford rollback romance1 romantic romantica rootbeer rooster1 rosalinda roswell1 rough123 runner12
rush2112 sabbath1 sailing1 sailor12 samsam12 sammydog sandman1 sassy123 sassygirl schatzi1 schatz123 schnecke
schnuffel schumacher schumi123 science1 scrapper scruffy1 seahorse search12 secretary select12 serenade shaggy12
shaolin1 sheepdog shelter1 sherwood shinobi1 shooter1 sickness silence1 silencio sinister sixtynine skeleton skinhead
skipper1 skooter1 slamdunk slapshot sleeping sleepy12 slowpoke smirnoff smooth12 smoothie sniffles snowbird soccer101
soccer07 soccer14 soccer15 soccer17 soccer21 soccer23 socrates softail1 soledad1 songbird soulfly1 southside13
sparkle1 sparkles spartan117 spartacus spectrum speedracer speedway spotlight springer stallion standard starlite
station1 stellar1 stewart1 stinger1 stinky12 straight strange1 stratus1 strawberries street12 strikers striker1
studio54 stupidboy stupidgirl stupidme sublime1 submarine suckers1 summer00 summer05 summer06 sunnyday sunnyboy
superman3 superman7 supersonic supervisor supreme1 surfer12 surfing1 symphony tallahassee tamagotchi tarantula
tarheel1 teachers technical technology teenager telecom1 telefon1 telefono television temptation terrell1 terrible
thankgod thegreat thegame1 theking1 thekiller theman12 themaster theone12 theonlyone thesims2 thesims3 thinker1
thirtysix thisisit thisisme thisismypassword threeday thriller thumper1 thunder7 tickets1 tigereye timberland timelord
tootsie1 topgun12 toughguy tractor1 trailer1 transformer traveler traveller triangle trickster triggers trinidad
triton12 trooper1 tropical trucker1 trucks12 trustgod trustme1 turbo123 twinkle1 twinkies twins123 twister1
unbelievable underdog underground undertow universal unlimited unknown1 unlocked vengeance vertigo1 viking12 villevalo
violetta virgin12 virtual1 visionary vitamin1 voodoo12 voyager1 wallace1 wanker12 warning1 warrior7 waterboy weasel12
webster1 weekend1 weezer12 westwood wetpussy whateva1 whatsup1 whiskers whitney1 wildcard wildchild wildfire wildlife
wildwood windmill windsor1 windsurf winners1 wolfman1 wonderland woodland workhard working1 wutang36 wwejohncena
wwe12345 wwewwewwe raw12345 reymysterio reymysterio619 mysterio619 hardyboyz tripleh1 xboxone1 xxx12345 yellowstone
yosemite youarethebest yourmama yourmother youknowit yoyoyoyo yummy123 zerozero zigzag12 zildjian zimbabwe zipper12
zodiac12 zxcvbnm0 a123456b abc123!! abcd1234! abcd@1234 aaaaaa11 admin!23 admin111 admin666 admin888 puma1234 reebok12
adobe123 macromedia azsxdcfv azsxdcfvgb aqswdefr aqwzsxedc asdewq123 bnm12345 bvcxz123 ewq32100 fdsa4321 hjvfirf1
klmnop12 ytrewq12 ytrewq321 rewq4321 trewq123 uiop7890 vfhbyf12 yfnfif12 cjkysirj rfnthbyf fylhtq12 vfrcbv12 ljvbybr1
lhfrjy12 ybrjkfq1 ctdfcnjgjkm marina77 dasha123 masha123 zaebali1 lubimaya solnishko solnyshko samsung7 wsxedc12
wsxedcrfv wsx123456 edcrfvtgb plmoknij plokijuh okmijnuhb mko09ijn nji90okm cde34rfv bgt56yhn vfr45tgb xsw21qaz
zse45rdx xdr56tfc 1z2x3c4v 1z2x3c4v5b 1x2c3v4b zxcvbnm7 zxcvbnmm 0p9o8i7u 0o9i8u7y ppppoooo qwqwqwqw asasasas zxzxzxzx
qazxcvbn qwertyu1 qwertyu8 qwerty007 qwerty88 qwerty66 qwerty55 qwerty00 qwerty10 qwerty90 qwerty78 qwerty789
qwerty321 qwerty654321 wertyuio wertyuiop ertyuiop sdfghjkl xcvbnm123
`;

/* A library with static data of its own, which it writes to before main. */
static unsigned char data[1 << 20];

unsigned char* library_data(void);

unsigned char* library_data(void)
{
    return data;
}

__attribute__((constructor)) static void fill(void)
{
    for (unsigned i = 0; i < sizeof data; ++i)
        data[i] = 7;
}
